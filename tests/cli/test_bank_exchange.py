"""`pmem bank check`, `export`, `import`, and what is nearest to a search."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pmem.core.bank import (
    BankOp,
    PutEntry,
    RecordAttempt,
    SaveKnowledge,
    SaveProcedural,
    UpdateStatus,
)
from pmem.core.entry import Entry
from pmem.store.bank_file import BankFile
from pmem.store.project import find_project

Call = Callable[..., Any]


def bank(project: Path, home: Path, *ops: BankOp) -> BankFile:
    """The project's bank, with these operations carried out and written."""
    found = BankFile(find_project(project, {"HOME": str(home)}))
    found.apply(ops)
    assert found.close()
    return found


FACTS = (
    UpdateStatus("private words"),
    SaveKnowledge("port", "The server listens on port 5433.", ("env",)),
    SaveKnowledge(
        "mine", "Never use sudo; 절대 금지.", ("constraint",), "user", {"command": "sudo*"}
    ),
    SaveKnowledge("rule", "AGENTS.md:3 says: never force-push.", ("constraint",), "AGENTS.md:3"),
    SaveProcedural("fix", "npm test fails until npm run build has run.", "diagnosis"),
    RecordAttempt("make", "", False, 0, "", "ok\n", 1, "s"),
)


# --- search -----------------------------------------------------------------------------------


def test_the_most_telling_entry_comes_first(project: Path, home: Path, pmem: Call) -> None:
    bank(
        project,
        home,
        SaveKnowledge("long", "Words about a port. " + "Nothing else of note here. " * 20),
        SaveKnowledge("short", "The port is 5433."),
    )
    found = json.loads(pmem("bank", "search", "port", "--json").out)
    assert [e["id"] for e in found["knowledge"]] == ["short", "long"]


def test_what_comes_nearest_is_shown_as_such(project: Path, home: Path, pmem: Call) -> None:
    bank(project, home, *FACTS)
    said = pmem("bank", "search", "port", "unheard-of")
    assert "no entry holds port unheard-of; these come nearest" in said.err
    assert "5433" in said.out


# --- check ------------------------------------------------------------------------------------


def test_a_bank_without_fault(project: Path, home: Path, pmem: Call) -> None:
    bank(project, home, *FACTS[1:3])
    said = pmem("bank", "check")
    assert (said.code, said.out, said.err) == (0, "", "pmem: all is well\n")


def test_what_is_broken_is_named_and_left_alone(project: Path, home: Path, pmem: Call) -> None:
    found = bank(project, home, SaveKnowledge("x", "x", when={"command": "["}))
    text = Path(found.path).read_text() + '\n[[knowledge]]\nid = "y"\ncontent = 3\n'
    Path(found.path).write_text(text)
    said = pmem("bank", "check")
    assert said.code == 1
    assert "the watch of x is not armed" in said.out
    assert "content must be a string" in said.out
    assert "content = 3" in Path(found.path).read_text()


def test_a_file_that_is_no_toml_is_not_touched(project: Path, home: Path, pmem: Call) -> None:
    found = bank(project, home, *FACTS[:2])
    Path(found.path).write_text("[[knowledge]\n")
    said = pmem("bank", "check")
    assert (said.code, "cannot be read" in said.out) == (1, True)
    assert Path(found.path).read_text() == "[[knowledge]\n"


def test_what_is_stale_is_told_and_can_be_forgotten(project: Path, home: Path, pmem: Call) -> None:
    (project / "config.toml").write_text("port = 5433\n")
    bank(project, home, SaveKnowledge("port", "port = 5433", source="config.toml:1"))
    assert pmem("bank", "check").out == ""
    (project / "config.toml").write_text("port = 6000\n")
    said = pmem("bank", "check")
    assert said.out == "port (stale: config.toml has changed)\n"
    assert "pmem bank check --prune" in said.err
    assert "✖ stale: config.toml has changed" in pmem("bank", "list").out
    assert json.loads(pmem("bank", "check", "--json").out)["stale"] == {
        "port": "config.toml has changed"
    }
    assert pmem("bank", "check", "--prune").out == "forgot port (stale: config.toml has changed)\n"
    assert json.loads(pmem("bank", "list", "--json").out)["knowledge"] == []


# --- export and import ------------------------------------------------------------------------


def test_a_bank_goes_into_another_project_without_its_status(
    project: Path, home: Path, pmem: Call, tmp_path: Path
) -> None:
    bank(project, home, *FACTS)
    text = pmem("bank", "export").out
    assert "private words" not in text
    other = tmp_path / "other"
    other.mkdir()
    said = pmem("bank", "import", "-", stdin=text, cwd=other)
    assert said.err == "pmem: 5 entries taken over\n"
    ours, theirs = (json.loads(pmem("bank", "list", "--json", cwd=d).out) for d in (project, other))
    assert theirs == {**ours, "status": ""}


def test_what_is_here_already_stays_unless_asked(project: Path, home: Path, pmem: Call) -> None:
    bank(project, home, SaveKnowledge("port", "ours"))
    (project / "b.json").write_text('{"knowledge": [{"id": "port", "content": "theirs"}]}')
    assert "1 were here already" in pmem("bank", "import", "b.json").err
    assert json.loads(pmem("bank", "show", "port", "--json").out)["content"] == "ours"
    pmem("bank", "import", "b.json", "--replace")
    assert json.loads(pmem("bank", "show", "port", "--json").out)["content"] == "theirs"


def test_a_chapter_that_would_be_empty_is_none(project: Path, home: Path, pmem: Call) -> None:
    bank(project, home, RecordAttempt("ls -l", "", False, 0, "", "", 4, "s"))
    assert pmem("bank", "export").code == 0
    said = pmem("bank", "export", "--format", "agents-md")
    assert (said.code, said.out) == (1, "")
    assert "nothing is remembered here that could be written" in said.err


def test_a_chapter_for_agents_md(project: Path, home: Path, pmem: Call) -> None:
    stale = Entry("knowledge", "old", "old news", stale="a.toml has changed")
    bank(project, home, *FACTS, PutEntry(stale))
    assert (
        pmem("bank", "export", "--format", "agents-md").out
        == """\
## What was learned here

### Obey

- Never use sudo; 절대 금지.

### Known

- The server listens on port 5433.

### Tried

- npm test fails until npm run build has run.
"""
    )


def test_a_success_stands_in_the_chapter_where_a_person_wrote_or_pinned_it(
    project: Path, home: Path, pmem: Call
) -> None:
    plain = Entry("procedural", "a", "make a: passed at step 1.", outcome="succeeded")
    bank(
        project,
        home,
        PutEntry(plain),
        PutEntry(replace(plain, id="b", content="make b: the way.", source="user")),
        PutEntry(replace(plain, id="c", content="make c: kept.", tags=("pinned",))),
    )
    told = pmem("bank", "export", "--format", "agents-md").out
    assert "make b: the way." in told
    assert "make c: kept." in told
    assert "make a" not in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "holds no bank"),
        ("{}", "neither knowledge nor procedural"),
        ('{"knowledge": 3}', "knowledge must be a list"),
        ("schema = 99\n", "schema 99"),
        ("[[knowledge]\n", "holds no bank"),
    ],
)
def test_what_is_no_bank_changes_nothing(project: Path, pmem: Call, text: str, said: str) -> None:
    done = pmem("bank", "import", "-", stdin=text)
    assert done.code == 1
    assert said in done.err
    assert not (project / ".pmem").exists()


def test_an_entry_that_cannot_be_used_does_not_keep_the_others(project: Path, pmem: Call) -> None:
    text = '{"knowledge": [{"id": "a", "content": 3}, {"id": "b", "content": "b"}, 4]}'
    said = pmem("bank", "import", "-", stdin=text)
    assert said.code == 0
    assert said.err.count("left out") == 2
    assert "1 entry taken over" in said.err


# --- a person's edit beside a session's ---------------------------------------------------------


def editor(project: Path, python: str) -> str:
    """An editor that runs Python over `path`, the file it is given."""
    script = project / "editor.py"
    script.write_text(f"import sys, pathlib\npath = pathlib.Path(sys.argv[1])\n{python}")
    import sys

    return f"{sys.executable} {script}"


MEANWHILE = """
import os
from pmem.core.bank import Amend, SaveKnowledge
from pmem.store.bank_file import BankFile
from pmem.store.project import find_project
bank = BankFile(find_project(pathlib.Path("PROJECT"), os.environ))
theirs = Amend("port", {FIELD: OLD}, {FIELD: "theirs"})
bank.apply([SaveKnowledge("new", "written meanwhile"), theirs])
bank.close()
path.write_text(path.read_text().replace("5433", "6000"))
"""


@pytest.mark.parametrize("field", ["note", "content"])
def test_an_edit_carries_over_only_what_was_changed(
    project: Path, home: Path, pmem: Call, field: str
) -> None:
    """Another writer changes another field: both stay. The same field: nothing is overwritten."""
    old = "The server listens on port 5433." if field == "content" else ""
    bank(project, home, SaveKnowledge("port", "The server listens on port 5433."))
    python = MEANWHILE.replace("PROJECT", str(project)).replace("FIELD", repr(field))
    command = editor(project, python.replace("OLD", repr(old)))
    checkout = str(Path(__file__).parent.parent.parent)
    said = pmem("bank", "edit", env={"EDITOR": command, "PYTHONPATH": checkout})
    entry = json.loads(pmem("bank", "show", "port", "--json").out)
    assert json.loads(pmem("bank", "show", "new", "--json").out)["content"] == "written meanwhile"
    if field == "note":
        assert (entry["content"], entry["note"]) == ("The server listens on port 6000.", "theirs")
    else:
        assert entry["content"] == "theirs"
        assert "content was changed by somebody else" in said.err
        kept = Path(said.err.split("your text is kept in ")[1].splitlines()[0])
        assert "port 6000" in kept.read_text()


@pytest.mark.parametrize(
    "args",
    [("list",), ("list", "--json"), ("search", "x"), ("show", "x"), ("rm", "x"), ("export",)],
)
def test_a_bank_that_cannot_be_read_is_no_empty_one(
    project: Path, pmem: Call, args: tuple[str, ...]
) -> None:
    assert pmem("bank", "add", "A fact.").code == 0
    bank = project / ".pmem" / "bank.toml"
    bank.write_text("schema = 99\n")
    done = pmem("bank", *args)
    assert done.code == 125
    assert "schema 99" in done.err
    assert "upgrade pmem" in done.err
    assert done.out == ""
    assert bank.read_text() == "schema = 99\n"
    told = pmem("status")
    assert "cannot be read" in told.out
    assert "0 knowledge" not in told.out
