"""What earlier sessions left is used only as far as it still holds."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from rings import HOOK, Kept, Recorder, ran, ring, wants

from pmem.core.bank import Entry, MemoryBank, RecordAttempt, SaveKnowledge, SaveProcedural
from pmem.core.decision import Reminder, Trigger
from pmem.core.history import History
from pmem.core.moment import Moment
from pmem.memory.model import shown
from pmem.memory.model.relevance import chosen
from pmem.session.assemble import assemble
from pmem.session.process import SessionConfig
from pmem.store.bank_file import BankFile
from pmem.store.cited import CitedFiles
from pmem.store.project import find_project
from pmem.store.settings import load_settings

PORT = Entry(
    "knowledge",
    "port",
    "config.toml:1 says: port = 5433.",
    source="config.toml:1",
    when={"command": "psql*"},
)


def started(place: Path) -> tuple[Kept, object]:
    """A session over a bank that cites config.toml of this project."""
    kept = Kept()
    kept.bank.put(PORT)
    return kept, ring(None, kept, marks=CitedFiles(place).marks)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project with one file."""
    (tmp_path / "config.toml").write_text("port = 5433\nhost = 'a'\n")
    return tmp_path


def test_an_entry_whose_file_is_as_it_was_is_cited(place: Path) -> None:
    kept, session = started(place)
    answer = session.handle(wants("psql app"), HOOK)
    assert answer.reminder is not None
    assert set(kept.bank.entries["port"].files) == {"config.toml"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda f: f.write_text("port = 6000\n"), "config.toml has changed"),
        (lambda f: f.unlink(), "config.toml is gone"),
    ],
)
def test_an_entry_whose_file_changed_is_marked_and_not_cited(place, change, why) -> None:
    kept, session = started(place)
    session.handle(ran("true"), HOOK)
    change(place / "config.toml")
    assert session.handle(wants("psql app"), HOOK).reminder is None
    assert kept.bank.entries["port"].stale == why
    assert kept.decisions[-1]["verdict"] == f"port is stale: {why}"
    assert kept.decisions[-1]["cited"][0]["content"] == PORT.content


def test_a_file_that_is_as_it_was_again_takes_the_mark_back(place: Path) -> None:
    kept, session = started(place)
    session.handle(ran("true"), HOOK)
    before = (place / "config.toml").read_bytes()
    (place / "config.toml").write_text("port = 6000\n")
    session.handle(wants("psql app"), HOOK)
    (place / "config.toml").write_bytes(before)
    assert session.handle(wants("psql app"), HOOK).reminder is not None
    assert kept.bank.entries["port"].stale == ""


def test_the_next_session_marks_what_changed_in_between(place: Path) -> None:
    kept, session = started(place)
    session.handle(ran("true"), HOOK)
    (place / "config.toml").write_text("")
    later = ring(None, kept, marks=CitedFiles(place).marks)
    later.handle(ran("true"), HOOK)
    assert kept.bank.entries["port"].stale == "config.toml has changed"


def test_a_line_of_a_rule_file_may_move_but_not_go(tmp_path: Path) -> None:
    rules = tmp_path / "AGENTS.md"
    rules.write_text("# Rules\nNever force-push.\n")
    files = CitedFiles(tmp_path)
    entry = Entry("knowledge", "r", "AGENTS.md:2 says: never force-push.", source="AGENTS.md:2")
    (mark,) = files.marks([entry])
    entry = replace(entry, files=mark.files)
    rules.write_text("# Rules\n\nUse make.\nNever force-push.\n")
    assert files.marks([entry]) == []
    rules.write_text("# Rules\n\nUse make.\n")
    assert files.marks([entry])[0].stale == "AGENTS.md says it no more"


@pytest.mark.parametrize(
    "source", ["user", "task", "model", "", "step 4 of 20261130-114207-claude", "../outside:3"]
)
def test_what_is_no_file_of_the_project_is_not_looked_at(tmp_path: Path, source: str) -> None:
    (tmp_path.parent / "outside").write_text("x\ny\nz\n")
    entry = Entry("knowledge", "x", "x", source=source)
    assert CitedFiles(tmp_path).marks([entry]) == []


@pytest.mark.parametrize(
    ("section", "content", "files"),
    [
        ("knowledge", "src/app.py:2 sets the timeout.", {"src/app.py"}),
        ("knowledge", "The timeout (src/app.py:2) and the port (conf.toml:1).",
         {"src/app.py", "conf.toml"}),
        ("knowledge", "example.com:443 and nowhere.py:3 are no files here.", set()),
        ("knowledge", "src/app.py holds the handler.", set()),
        ("procedural", "make: failed at step 3 (src/app.py:2: error).", set()),
    ],
)  # fmt: skip
def test_a_fact_cites_the_files_it_names_by_their_line(
    tmp_path: Path, section: str, content: str, files: set[str]
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text("x = 1\ntimeout = 3\n")
    (tmp_path / "conf.toml").write_text("port = 1\n")
    looks = CitedFiles(tmp_path)
    marks = looks.marks([Entry(section, "f", content, source="model")])
    assert {name for mark in marks for name in mark.files or ()} == files
    for mark in marks:
        known = Entry(section, "f", content, source="model", files=mark.files or {})
        assert looks.marks([known]) == []
        (tmp_path / "src" / "app.py").write_text("timeout = 9\n")
        assert looks.marks([known])[0].stale == "src/app.py has changed"


# --- a later success --------------------------------------------------------------------------


def passed(command: str, cwd: str = "", step: int = 9) -> RecordAttempt:
    return RecordAttempt(command, cwd, False, 0, "", "ok\n", step, "S")


@pytest.mark.parametrize(
    ("content", "command", "cwd", "stale"),
    [
        ("`npm test` fails: Cannot find module './db'.", "npm test", "", True),
        ("npm test in api/ failed (exit 1).", "npm test", "api", True),
        ("npm test in api/ failed (exit 1).", "npm test", "", False),
        ("npm test -- --watch fails.", "npm test", "", False),
        ("npm test fails; passes after npm run build.", "npm test", "", False),
        ("make testall fails.", "make test", "", False),
        ("make -C api fails without CC.", "make", "", False),
    ],
)
def test_a_success_contradicts_what_says_that_it_fails(content, command, cwd, stale) -> None:
    bank = MemoryBank()
    bank.apply(SaveProcedural("broken", content, "failed"))
    bank.apply(passed(command, cwd))
    assert (bank.entries["broken"].stale != "") is stale


def test_a_sentence_of_an_earlier_version_is_written_anew_and_is_not_stale() -> None:
    bank = MemoryBank()
    bank.apply(RecordAttempt("make", "", True, 2, "No rule", "", 2, "S"))
    (name,) = bank.entries
    earlier = "make: failed at step 2 (No rule)."  # without the quotation marks
    bank.put(replace(bank.entries[name], content=earlier))
    bank.apply(passed("make", step=3))
    assert bank.entries[name].stale == "" and "passed at step 3" in bank.entries[name].content


def test_a_person_s_words_are_not_contradicted() -> None:
    bank = MemoryBank()
    bank.apply(SaveProcedural("broken", "`make` fails.", "failed", source="user"))
    bank.apply(passed("make"))
    assert bank.entries["broken"].stale == ""


def test_what_is_saved_anew_is_fresh() -> None:
    bank = MemoryBank()
    bank.apply(SaveProcedural("broken", "`make` fails.", "failed"))
    bank.apply(passed("make"))
    bank.apply(SaveProcedural("broken", "`make` fails again.", "failed"))
    assert bank.entries["broken"].stale == ""


def test_a_contradicted_entry_is_not_cited() -> None:
    kept = Kept()
    kept.bank.apply(SaveProcedural("broken", "`make` fails.", "failed"))
    said = Reminder("`make` failed (broken).", ("broken",), "test", "test")
    session = ring(Recorder(lambda moment: said), kept)
    session.handle(ran("make"), HOOK)
    assert session.handle(ran("ls", code=1), HOOK).reminder is None
    assert kept.decisions[-1]["verdict"].startswith("broken is stale: passed at step 1")


# --- from one session to the next, on real files ------------------------------------------------


def on_files(root: Path, env: dict[str, str], agent: str = "test"):
    project = find_project(root, env)
    return assemble(SessionConfig(project, load_settings(project, env, {}), agent, cwd=root), env)


def test_a_session_begins_with_facts_and_without_a_status(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    env = {**os.environ, "HOME": str(home)}
    session, bank, log = on_files(root, env)
    bank.apply([SaveKnowledge("fact", "The port is 5433.")])
    session.handle(ran("make", code=2), HOOK)
    bank.close()
    log.close(bank.path)
    assert bank.bank.status
    later, bank, log = on_files(root, env, "later")
    seen = []
    later.outside.memory.manage = lambda moment: seen.append(moment.bank.status) or ()
    later.handle(ran("true"), HOOK)
    assert seen[0] == ""
    assert {"fact", "make"} <= bank.bank.entries.keys()
    bank.close()
    log.close(bank.path)


def test_a_bank_per_session_leaves_the_project_s_alone(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    env = {**os.environ, "HOME": str(home)}
    shared = BankFile(find_project(root, env))
    shared.apply([SaveKnowledge("shared", "The port is 5433.")])
    shared.close()
    env["PMEM_SCOPE"] = "session"
    session, bank, log = on_files(root, env)
    session.handle(ran("make", code=2), HOOK)
    assert bank.close()
    log.close(bank.path)
    assert set(bank.bank.entries) == {"make"}
    assert Path(bank.path).is_relative_to(find_project(root, env).state / session.id)
    assert set(BankFile(find_project(root, env)).bank.entries) == {"shared"}


@pytest.mark.parametrize("pure", [False, True])
def test_a_model_is_not_shown_what_is_stale_as_a_fact(pure: bool) -> None:
    bank = MemoryBank(
        entries=[
            Entry("knowledge", "fresh", "The port is 5433."),
            Entry("knowledge", "old", "The port is 6000.", stale="conf.toml has changed"),
        ]
    )
    moment = Moment(Trigger.INTERVAL, "", (), bank, History())
    entries, others = chosen(moment, pure=pure)
    assert ([e.id for e in entries], others) == (["fresh"], [])
    told = shown.bank(entries, others, moment)
    assert "6000" not in told
    assert "stale, cite none of them: old (conf.toml has changed)" in told
    assert "6000" not in shown.whole_bank(moment)


# --- a bank from elsewhere ----------------------------------------------------------------------


@pytest.mark.parametrize(("strange", "heard"), [((), True), (("cure",), False)])
def test_the_words_of_a_bank_from_elsewhere_are_not_repeated(strange, heard) -> None:
    kept = Kept()
    kept.bank.apply(SaveProcedural("cure", "`make` failed, `./setup.sh --yes` helped.", "failed"))
    kept.strange = frozenset(strange)
    said = Reminder("`./setup.sh --yes` makes `make` pass.", ("cure",), "known_remedy", "cure")
    session = ring(Recorder(lambda moment: said), kept)
    answer = session.handle(ran("ls", code=1), HOOK)
    assert (answer.reminder is not None) is heard
    assert ("from elsewhere" in kept.decisions[-1].get("verdict", "")) is not heard


def test_what_pmem_itself_wrote_of_a_command_there_may_be_said() -> None:
    kept = Kept()
    kept.bank.apply(RecordAttempt("make", "", True, 2, "No rule", "", 1, "S"))
    (name,) = kept.bank.entries
    kept.strange = frozenset([name])
    said = Reminder("`make` failed at step 1 of an earlier session.", (name,), "rule", "make")
    session = ring(Recorder(lambda moment: said), kept)
    assert session.handle(ran("ls", code=1), HOOK).reminder is not None
