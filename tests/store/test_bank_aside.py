"""The bank's file read and written beside the answers: memory goes on, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pmem.core.bank import SaveKnowledge
from pmem.store import bank_file as module
from pmem.store.bank_file import BankFile
from pmem.store.bank_toml import loads
from pmem.store.project import Project


class Later:
    """Work that is done when a test says so."""

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []

    def __call__(self, work: Callable[[], None]) -> None:
        self.work.append(work)

    def done(self) -> None:
        self.work.pop(0)()


@pytest.fixture
def later() -> Later:
    return Later()


@pytest.fixture
def bank(project: Project, later: Later) -> BankFile:
    bank = BankFile(project)
    bank.patient, bank.aside = True, later
    return bank


def fact(id: str, content: str = "x", source: str = "model") -> SaveKnowledge:
    return SaveKnowledge(id, content, source=source)


def on_disk(project: Project) -> dict[str, str]:
    return {id: e.content for id, e in loads(project.bank.read_text()).entries.items()}


def at_once(bank: BankFile) -> None:
    """Tend the file without the rest between two pieces of work."""
    bank._not_before = 0.0
    assert bank.due(time.monotonic())
    bank.tend()


def test_what_comes_in_while_the_file_is_written_is_there_and_written_next(
    project: Project, bank: BankFile, later: Later
) -> None:
    bank.apply([fact("a")])
    at_once(bank)
    assert bank.wait(time.monotonic()) is None
    bank.apply([fact("b"), fact("a", "newer")])
    later.done()
    assert on_disk(project) == {"a": "x"}
    assert not bank.refresh()
    assert {id: e.content for id, e in bank.bank.entries.items()} == {"a": "newer", "b": "x"}
    at_once(bank)
    later.done()
    bank.collect()
    assert on_disk(project) == {"a": "newer", "b": "x"}
    assert bank.wait(time.monotonic()) is None


def test_what_could_not_be_written_stays_in_its_order(
    project: Project, bank: BankFile, later: Later
) -> None:
    bank.apply([fact("a", "first")])
    at_once(bank)
    project.dir.write_text("in the way")
    bank.apply([fact("a", "second")])
    later.done()
    bank.collect()
    assert bank.problem and bank.bank.entries["a"].content == "second"
    project.dir.unlink()
    assert bank.close()
    assert on_disk(project) == {"a": "second"}


def test_the_end_waits_for_what_is_under_way(project: Project, bank: BankFile) -> None:
    bank.apply([fact("a")])
    bank._not_before = 0.0
    bank.aside = lambda work: work()  # done, and not collected yet
    bank.tend()
    bank.apply([fact("b")])
    assert bank.close()
    assert on_disk(project) == {"a": "x", "b": "x"}


def test_a_disk_that_never_answers_is_told(
    bank: BankFile, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LAST_PATIENCE", 0.01)
    monkeypatch.setattr(module, "STAND_BY", 0.01)
    bank.apply([fact("a")])
    at_once(bank)
    assert not bank.close()
    assert "does not answer" in bank.notes[-1]


def test_a_persons_edit_waits_for_our_own_work_and_not_long(
    project: Project, bank: BankFile, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STAND_BY", 0.01)
    bank.apply([fact("a")])
    assert bank.flush()
    bank.apply([fact("b")])
    at_once(bank)
    project.bank.write_text(project.bank.read_text().replace('"x"', '"by hand"'))
    assert not bank.refresh()
    later.done()
    assert bank.refresh()
    assert bank.bank.entries["a"].content == "by hand"
    assert on_disk(project) == {"a": "by hand", "b": "x"}


def test_a_hand_that_was_at_work_only_meanwhile_counts(
    project: Project, bank: BankFile, later: Later
) -> None:
    bank.apply([fact("a")])
    assert bank.flush()
    bank.apply([fact("b")])
    at_once(bank)
    other = BankFile(project)
    other.patient, other._disk.vouched = True, False
    other.apply([fact("mine", "I am the user.", source="user")])
    assert other.flush()
    bank.at_work = lambda: "agent"
    bank.refresh()  # its step begins …
    bank.at_work = str
    bank.refresh()  # … and ends, while the work has not looked yet
    later.done()
    bank.collect()
    assert bank.bank.entries["mine"].source == "agent"


def test_sessions_that_read_each_other_lose_nothing(project: Project) -> None:
    """Each in its thread, all at once, as fast as they can."""
    import threading

    class Thread:
        def __call__(self, work: Callable[[], None]) -> None:
            threading.Thread(target=work, daemon=True).start()

    banks = [BankFile(project) for _ in range(4)]
    for bank in banks:
        bank.patient, bank.aside = True, Thread()
    for n in range(40):
        for side, bank in enumerate(banks):
            bank.refresh()
            bank.apply([fact(f"s{side}-{n}"), fact("shared", f"{side} {n}")])
            bank._not_before = 0.0
            bank.tend()
    for bank in banks:
        assert bank.close(), bank.problem
    wanted = {f"s{side}-{n}" for side in range(4) for n in range(40)}
    assert wanted | {"shared"} == on_disk(project).keys()
    left = {path.name for path in project.dir.iterdir()}
    assert left == {"bank.toml", "pmem.toml", ".gitignore"}


def test_a_version_that_was_just_replaced_is_still_a_sessions(
    project: Project, tmp_path: Path
) -> None:
    from pmem.store import files, rival

    first, second, edit = (files.Stamp(n, n, n) for n in (1, 2, 3))
    rival.tell(tmp_path, first, None)
    rival.tell(tmp_path, second, first)
    assert rival.wrote(tmp_path, first) and rival.wrote(tmp_path, second)
    rival.tell(tmp_path, first, edit)
    assert not rival.wrote(tmp_path, edit) and not rival.wrote(tmp_path, second)
    assert (tmp_path / rival.NAME).stat().st_mode & 0o777 == 0o600
