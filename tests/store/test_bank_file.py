"""The bank's file under one session: written late, read again when it changed, never lost."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from pmem.core.bank import Delete, RecordAttempt, SaveKnowledge, UpdateStatus
from pmem.store import files
from pmem.store.bank_file import BankFile
from pmem.store.bank_toml import loads
from pmem.store.project import Project, ensure, find_project


def fact(id: str, content: str = "x", **more: object) -> SaveKnowledge:
    return SaveKnowledge(id, content, **more)  # type: ignore[arg-type]


def ran(command: str, step: int = 1, failed: bool = True) -> RecordAttempt:
    exit_code = 1 if failed else 0
    return RecordAttempt(command, "", failed, exit_code, "no" if failed else "", "out", step, "s")


def on_disk(project: Project) -> dict[str, str]:
    return {id: e.content for id, e in loads(project.bank.read_text()).entries.items()}


def edit(project: Project, text: str) -> None:
    """As an editor does: a new file in the old one's place."""
    new = project.dir / "4913~"
    new.write_text(text)
    new.replace(project.bank)


def test_nothing_is_made_before_there_is_something_to_keep(project: Project) -> None:
    bank_file = BankFile(project)
    assert bank_file.wait(time.monotonic()) is None
    assert bank_file.close()
    assert not project.dir.exists()


def test_memory_answers_before_the_file_is_written(project: Project) -> None:
    bank_file = BankFile(project)
    assert bank_file.apply([fact("port", "8080"), ran("make")]) == []
    assert bank_file.bank.entries["port"].content == "8080"
    assert not project.bank.exists()
    assert bank_file.due(time.monotonic())
    assert bank_file.flush()
    assert on_disk(project).keys() == {"port", "make"}
    assert project.bank.stat().st_mode & 0o777 == 0o600


def test_writes_are_coalesced(project: Project) -> None:
    bank_file = BankFile(project)
    bank_file.apply([fact("a")])
    bank_file.flush()
    now = time.monotonic()
    assert bank_file.wait(now) is None
    bank_file.apply([fact("b")])
    wait = bank_file.wait(now)
    assert wait is not None and 0 < wait <= 5.0
    assert not bank_file.due(now) and bank_file.due(now + 5.1)


def test_what_was_closed_is_there_the_next_time(project: Project) -> None:
    first = BankFile(project)
    first.apply([UpdateStatus("half done"), ran("make"), ran("make", 2)])
    first.close()
    again = BankFile(project)
    assert again.bank.status == "half done"
    assert again.bank.entries["make"].attempts == 2
    assert again.bank.entries == first.bank.entries


def test_an_id_without_a_letter_is_refused_with_a_word_and_the_rest_is_kept(
    project: Project,
) -> None:
    bank_file = BankFile(project)
    assert len(bank_file.apply([fact("!!"), fact("good")])) == 1
    assert list(bank_file.bank.entries) == ["good"]


def test_in_home_nothing_is_written_and_memory_works_and_stays_bounded(home: Path) -> None:
    bank_file = BankFile(find_project(home, os.environ), max_entries=10)
    for n in range(100):
        bank_file.apply([ran(f"make {n}")])
    assert 0 < len(bank_file.bank.entries) <= 21
    assert bank_file.close() and bank_file.notes == []
    assert list(home.iterdir()) == []


# -- others write too -----------------------------------------------------------------------------


def test_a_hand_edit_is_seen_at_the_next_look(project: Project) -> None:
    bank_file = BankFile(project)
    bank_file.apply([fact("a", "old")])
    bank_file.flush()
    assert not bank_file.refresh()
    edit(project, project.bank.read_text().replace("old", "new"))
    assert bank_file.refresh()
    assert bank_file.bank.entries["a"].content == "new"


def test_a_hand_edit_between_two_flushes_survives(project: Project) -> None:
    bank_file = BankFile(project)
    bank_file.apply([fact("a"), fact("b"), ran("make")])
    bank_file.flush()
    bank_file.apply([ran("make", 2), fact("c")])
    text = project.bank.read_text()
    start = text.index('[[knowledge]]\nid = "b"')
    edit(project, text[:start] + '[[knowledge]]\nid = "mine"\ncontent = "by hand"\nx = 1\n')
    bank_file.flush()
    assert on_disk(project) == {
        "a": "x",
        "mine": "by hand",
        "make": "make: failed at step 2 (“no”).",
        "c": "x",
    }
    assert "x = 1" in project.bank.read_text()
    assert bank_file.bank.entries.keys() == on_disk(project).keys()


def test_an_edit_in_place_is_seen_as_well(project: Project) -> None:
    bank_file = BankFile(project)
    bank_file.apply([fact("a", "old")])
    bank_file.flush()
    project.bank.write_text(project.bank.read_text().replace("old", "newer"))
    bank_file.apply([fact("b")])
    bank_file.flush()
    assert on_disk(project) == {"a": "newer", "b": "x"}


def test_an_edit_made_while_the_bank_is_written_is_taken_in_too(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank_file = BankFile(project)
    bank_file.apply([fact("a", "old")])
    bank_file.flush()
    prepare = files.prepare

    def prepare_and_edit(
        dir_fd: int, name: str, data: bytes, *, sync: bool = True
    ) -> tuple[str, files.Stamp]:
        prepared = prepare(dir_fd, name, data, sync=sync)
        if "new" not in project.bank.read_text():
            edit(project, project.bank.read_text().replace("old", "new"))
        return prepared

    monkeypatch.setattr(files, "prepare", prepare_and_edit)
    bank_file.apply([fact("b")])
    assert bank_file.flush()
    assert on_disk(project) == {"a": "new", "b": "x"}
    assert not list(project.dir.glob(".bank.toml.*"))


def test_two_sessions_see_and_keep_each_others_entries(project: Project) -> None:
    one, other = BankFile(project), BankFile(project)
    for n in range(5):
        one.apply([ran("make", n), fact(f"one-{n}")])
        other.apply([ran("make", n), fact(f"other-{n}")])
        assert one.flush() and other.flush()
    one.refresh()
    assert one.bank.entries == other.bank.entries
    assert one.bank.entries["make"].attempts == 10
    assert len(one.bank.entries) == 11


def test_what_one_session_deleted_stays_deleted(project: Project) -> None:
    one, other = BankFile(project), BankFile(project)
    one.apply([fact("a"), fact("b")])
    one.flush()
    other.refresh()
    other.apply([Delete("a"), fact("c")])
    one.apply([fact("d")])
    other.flush()
    one.flush()
    assert on_disk(project).keys() == {"b", "c", "d"}


def test_while_another_holds_the_lock_operations_wait_and_then_arrive(project: Project) -> None:
    bank_file = BankFile(project)
    bank_file.apply([fact("a")])
    bank_file.flush()
    bank_file.apply([fact("b")])
    with files.opened_dir(project.dir) as fd, files.locked(fd, project.state / "lock", 1):
        assert not bank_file.flush(0.01)
        assert "lock" in bank_file.problem
    assert bank_file.flush() and bank_file.problem == ""
    assert on_disk(project).keys() == {"a", "b"}


# -- files that vanish or break ------------------------------------------------------------------


def test_a_directory_removed_in_mid_session_is_written_again(project: Project) -> None:
    bank_file = BankFile(project)
    bank_file.apply([fact("a")])
    bank_file.flush()
    shutil.rmtree(project.dir)
    assert bank_file.wait(time.monotonic()) is not None
    bank_file.close()
    assert on_disk(project) == {"a": "x"}
    assert (project.dir / "pmem.toml").exists()
    assert bank_file.notes == []


def test_after_a_removal_two_sessions_put_together_what_each_knows(project: Project) -> None:
    one, other = BankFile(project), BankFile(project)
    one.apply([fact("a"), ran("make"), ran("make", 2)])
    one.flush()
    other.refresh()
    other.apply([fact("b")])
    other.flush()
    shutil.rmtree(project.dir)
    one.apply([fact("c")])
    one.flush()  # does not know b
    other.apply([fact("d"), ran("make", 3)])
    other.flush()
    assert on_disk(project).keys() == {"a", "b", "c", "d", "make"}
    assert other.bank.entries["make"].attempts == 3


def test_a_bank_removed_between_sessions_is_a_fresh_start(project: Project) -> None:
    first = BankFile(project)
    first.apply([fact("a")])
    first.close()
    shutil.rmtree(project.dir)
    assert BankFile(project).bank.entries == {}


@pytest.mark.parametrize("broken", [b"[[knowledge\n", b"\xff\xfe\x00", b"schema = 1\nschema = 1\n"])
def test_a_broken_file_is_kept_aside_and_the_last_good_copy_taken(
    project: Project, broken: bytes
) -> None:
    first = BankFile(project)
    first.apply([fact("a")])
    first.close()
    project.bank.write_bytes(broken)
    again = BankFile(project)
    assert again.bank.entries.keys() == {"a"}
    assert on_disk(project) == {"a": "x"}
    (aside,) = project.dir.glob("bank.toml.broken-*")
    assert aside.read_bytes() == broken
    (note,) = again.notes
    assert aside.name in note and "1 entries" in note


def test_a_file_broken_in_mid_session_costs_nothing(project: Project) -> None:
    bank_file = BankFile(project)
    bank_file.apply([fact("a")])
    bank_file.flush()
    edit(project, "oops [")
    assert not bank_file.refresh()
    assert not bank_file.refresh()
    bank_file.apply([fact("b")])
    bank_file.flush()
    assert on_disk(project).keys() == {"a", "b"}
    assert len(list(project.dir.glob("bank.toml.broken-*"))) == 1
    assert len(bank_file.notes) == 1


def test_a_broken_file_that_is_mended_in_time_is_taken(project: Project) -> None:
    bank_file = BankFile(project)
    bank_file.apply([fact("a")])
    bank_file.flush()
    good = project.bank.read_text()
    edit(project, "oops [")
    bank_file.refresh()
    edit(project, good.replace('"x"', '"mended"'))
    bank_file.flush()
    assert on_disk(project) == {"a": "mended"}
    assert bank_file.notes == []


def test_a_bank_of_a_newer_pmem_is_left_alone(project: Project) -> None:
    ensure(project)
    project.bank.write_text('schema = 2\nsecrets = "of the future"\n')
    before = project.bank.stat()
    bank_file = BankFile(project)
    assert bank_file.close()
    bank_file.apply([fact("a")])
    assert bank_file.bank.entries.keys() == {"a"}
    assert not bank_file.close()
    assert project.bank.stat() == before
    assert "schema 2" in bank_file.notes[0] and "not touched" in bank_file.notes[0]
    assert "schema 2" in bank_file.problem


def test_a_symbolic_link_in_its_place_is_neither_read_nor_followed(
    project: Project, tmp_path: Path
) -> None:
    secret = tmp_path / "credentials.toml"
    secret.write_text('token = "hush"\n')
    ensure(project)
    project.bank.symlink_to(secret)
    bank_file = BankFile(project)
    bank_file.apply([fact("a")])
    bank_file.close()
    assert secret.read_text() == 'token = "hush"\n'
    assert "hush" not in project.bank.read_text()
    assert not project.bank.is_symlink()
    assert "not a plain file" in bank_file.notes[0]


def test_a_pipe_in_its_place_does_not_stop_us(project: Project) -> None:
    ensure(project)
    os.mkfifo(project.bank)
    bank_file = BankFile(project)
    bank_file.apply([fact("a")])
    assert bank_file.close()
    assert on_disk(project) == {"a": "x"}


def test_a_place_that_cannot_be_written_keeps_memory_and_says_so_once(project: Project) -> None:
    bank_file = BankFile(project)
    project.dir.write_text("a file where the directory should be")
    for n in range(3):
        bank_file.apply([fact(f"a-{n}")])
        assert not bank_file.flush()
    assert len(bank_file.bank.entries) == 3
    assert len(bank_file.notes) == 1 and "is not a directory" in bank_file.notes[0]
    wait = bank_file.wait(time.monotonic())
    assert wait is not None and wait > 1
    project.dir.unlink()
    assert bank_file.flush() and bank_file.problem == ""
    assert on_disk(project).keys() == {"a-0", "a-1", "a-2"}


def test_a_project_that_is_removed_is_not_made_again(project: Project) -> None:
    bank_file = BankFile(project)
    bank_file.apply([fact("a")])
    bank_file.flush()
    shutil.rmtree(project.root)
    bank_file.apply([fact("b")])
    assert not bank_file.close()
    assert not project.root.exists()
    assert "gone" in bank_file.notes[0]


def test_another_tool_taking_the_place_meanwhile_is_left_alone(project: Project) -> None:
    bank_file = BankFile(project)
    bank_file.apply([fact("a")])
    project.dir.mkdir()
    (project.dir / "theirs").touch()
    assert not bank_file.close()
    assert [p.name for p in project.dir.iterdir()] == ["theirs"]


def test_what_killed_writers_left_is_cleared_away(project: Project) -> None:
    ensure(project)
    (project.dir / ".bank.toml.999-1.tmp").write_text("half")
    bank_file = BankFile(project)
    bank_file.apply([fact("a")])
    bank_file.close()
    assert {p.name for p in project.dir.iterdir()} == {"bank.toml", "pmem.toml", ".gitignore"}


def test_however_long_nothing_can_be_written_memory_stays_bounded(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pmem.store.bank_file.MAX_QUEUE", 50)
    bank_file = BankFile(project, max_entries=10)
    project.dir.write_text("in the way")
    for n in range(300):
        bank_file.apply([ran("make", n), ran(f"make {n}")])
    assert len(bank_file._queue) <= 50 and len(bank_file._leaving) <= 50
    assert len(bank_file.bank.entries) <= 20
    project.dir.unlink()
    other = BankFile(project)
    other.apply([fact("theirs")])
    other.close()
    assert bank_file.close()
    read = loads(project.bank.read_text()).entries
    assert "theirs" in read and len(read) == 10
