"""`pmem bank`: looking at what is remembered, and changing it by hand."""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from pmem.core.bank import BankOp, RecordAttempt, SaveKnowledge
from pmem.store.bank_file import BankFile
from pmem.store.project import find_project
from pmem.terminal.cells import width

Call = Callable[..., Any]

ERROR = "Error: Cannot find module './db'"


def keep(project: Path, home: Path, ops: Iterable[BankOp]) -> None:
    bank = BankFile(find_project(project, {"HOME": str(home)}))
    bank.apply(ops)
    assert bank.close()


def attempt(command: str, step: int, *, failed: bool, output: str = "") -> RecordAttempt:
    return RecordAttempt(
        command, "", failed, 1 if failed else 0, ERROR if failed else "", output, step, "s"
    )


@pytest.fixture
def kept(project: Path, home: Path) -> Path:
    """A project with a constraint, a command that failed twice and one that passed."""
    keep(
        project,
        home,
        [
            SaveKnowledge(
                "no-force-push",
                "AGENTS.md:14 says: never force-push. 강제 푸시는 절대 하지 않는다.",
                ("constraint",),
                "AGENTS.md:14",
                {"command": "git push *--force*"},
            ),
            attempt("npm test", 2, failed=True, output=f"> test\n\nnode run.js\n{ERROR}"),
            attempt("npm test", 4, failed=True, output=f"> test\n\nnode run.js\n{ERROR}"),
            attempt("npm run build", 5, failed=False, output="built"),
        ],
    )
    return project


def on_disk(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / ".pmem" / "bank.toml").read_text("utf-8"))


# --- looking ----------------------------------------------------------------------------------


def test_a_list_as_json_is_one_object_with_the_keys_of_the_file(kept: Path, pmem: Call) -> None:
    said = pmem("bank", "list", "--json")
    assert said.code == 0
    told = json.loads(said.out)
    assert list(told) == ["status", "knowledge", "procedural"]
    for section in ("knowledge", "procedural"):
        assert told[section] == on_disk(kept)[section]


def test_an_empty_bank_is_an_empty_object_and_a_word(project: Path, pmem: Call) -> None:
    assert json.loads(pmem("bank", "list", "--json").out) == {
        "status": "",
        "knowledge": [],
        "procedural": [],
    }
    said = pmem("bank", "list")
    assert (said.code, said.out) == (0, "")
    assert "nothing is remembered here yet" in said.err
    assert not (project / ".pmem").exists()


def test_the_list_shows_attempts_exit_code_and_the_end_of_the_output(
    kept: Path, pmem: Call
) -> None:
    lines = pmem("bank", "list", columns=80).out.splitlines()
    at = next(n for n, line in enumerate(lines) if "npm-test" in line)
    assert lines[at].split()[:3] == ["✗", "2", "1"]
    assert "steps 2, 4" in lines[at + 1]
    assert any(line.strip() == f"│ {ERROR}" for line in lines[at:])
    assert any(line.split()[:3] == ["✓", "1", "0"] for line in lines)


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_no_line_of_the_list_is_wider_than_the_terminal(
    kept: Path, pmem: Call, columns: int
) -> None:
    out = pmem("bank", "list", columns=columns).out
    assert "절대" in out
    assert max(width(line) for line in out.splitlines()) <= columns


def test_a_program_that_reads_the_list_gets_each_fact_on_one_line(kept: Path, pmem: Call) -> None:
    out = pmem("bank", "list").out
    assert "AGENTS.md:14 says: never force-push. 강제 푸시는 절대 하지 않는다." in out
    assert "\x1b" not in out


def test_colours_are_for_those_who_want_them(kept: Path, pmem: Call) -> None:
    assert "\x1b[31m" in pmem("bank", "list", env={"FORCE_COLOR": "1"}).out
    assert "\x1b" not in pmem("bank", "list", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


def test_one_entry_is_shown_whole_by_the_beginning_of_its_id(kept: Path, pmem: Call) -> None:
    out = pmem("bank", "show", "npm-t").out
    assert "npm-test  procedural" in out
    assert "steps 2, 4" in out
    assert "│ node run.js" in out
    told = json.loads(pmem("bank", "show", "npm-test", "--json").out)
    assert told["section"] == "procedural"
    assert told["failed_steps"] == [2, 4]


def test_an_id_that_fits_none_or_several_is_told(kept: Path, pmem: Call) -> None:
    said = pmem("bank", "show", "nothing")
    assert (said.code, said.out) == (1, "")
    assert "there is no entry nothing; pmem bank list" in said.err
    said = pmem("bank", "show", "npm")
    assert said.code == 1
    assert "npm-test, npm-run-build" in said.err


def test_a_search_finds_all_words_in_any_case_and_any_part(kept: Path, pmem: Call) -> None:
    found = json.loads(pmem("bank", "search", "CANNOT", "npm", "--json").out)
    assert [e["id"] for e in found["procedural"]] == ["npm-test"]
    assert "no-force-push" in pmem("bank", "search", "강제").out
    said = pmem("bank", "search", "nowhere")
    assert (said.code, said.out) == (0, "")
    assert "no entry holds nowhere" in said.err


def test_control_characters_of_an_entry_do_nothing_to_the_terminal(
    project: Path, home: Path, pmem: Call
) -> None:
    keep(project, home, [SaveKnowledge("evil", "red \x1b[31m and \x1b]0;title\x07 \x9b2J")])
    for command in (("list",), ("show", "evil"), ("search", "red")):
        assert not set(pmem("bank", *command).out) & set("\x1b\x07\x9b")


def test_the_path_is_told_whether_the_file_is_there_or_not(project: Path, pmem: Call) -> None:
    assert pmem("bank", "path").out == f"{project}/.pmem/bank.toml\n"
    for said in (("bank", "path", "--dir", "other"), ("--dir", "other", "bank", "path")):
        assert pmem(*said).out == f"{project}/other/bank.toml\n"


def test_a_foreign_directory_is_left_alone(project: Path, pmem: Call) -> None:
    (project / ".pmem").mkdir()
    (project / ".pmem" / "theirs").write_text("keep")
    said = pmem("bank", "add", "something")
    assert (said.code, said.out) == (2, "")
    assert "belongs to another tool" in said.err
    assert [p.name for p in (project / ".pmem").iterdir()] == ["theirs"]


def test_a_broken_bank_is_kept_aside_and_told_in_one_line(kept: Path, pmem: Call) -> None:
    (kept / ".pmem" / "bank.toml").write_text("[[knowledge\n")
    said = pmem("bank", "list", "--json")
    assert said.code == 0
    assert len(json.loads(said.out)["procedural"]) == 2
    assert said.err.count("\n") == 1
    assert "bank.toml.broken-" in said.err
    assert list((kept / ".pmem").glob("bank.toml.broken-*"))


# --- adding and forgetting --------------------------------------------------------------------


def test_a_fact_is_added_under_an_id_of_its_words(project: Path, pmem: Call) -> None:
    said = pmem("bank", "add", "Never force-push.", "--tag", "git", "--tag", "team")
    assert (said.code, said.err) == (0, "pmem: remembered never-force-push\n")
    assert on_disk(project)["knowledge"] == [
        {
            "id": "never-force-push",
            "content": "Never force-push.",
            "tags": ["git", "team"],
            "source": "user",
        }
    ]


def test_the_same_words_again_are_another_entry_and_a_known_id_is_updated(
    project: Path, pmem: Call
) -> None:
    pmem("bank", "add", "Never force-push.")
    assert "remembered never-force-push-2" in pmem("bank", "add", "Never force-push.").err
    said = pmem("bank", "add", "Really never.", "--id", "never-force-push")
    assert "updated never-force-push" in said.err
    contents = [e["content"] for e in on_disk(project)["knowledge"]]
    assert contents == ["Really never.", "Never force-push."]


@pytest.mark.parametrize("text", ["푸시하지 마라", "力プッシュ禁止", "!!!", "a" * 4000])
def test_words_of_every_script_get_an_id(project: Path, pmem: Call, text: str) -> None:
    assert pmem("bank", "add", text).code == 0
    (entry,) = on_disk(project)["knowledge"]
    assert entry["content"] == text
    assert 0 < len(entry["id"]) <= 48


def test_a_fact_may_stand_on_stdin(project: Path, pmem: Call) -> None:
    pmem("bank", "add", "-", stdin="Line one.\nLine two.\n")
    assert on_disk(project)["knowledge"][0]["content"] == "Line one.\nLine two."


@pytest.mark.parametrize(("text", "words"), [("  ", "nothing to remember"), ("x" * 4001, "4001")])
def test_what_is_no_fact_is_refused(project: Path, pmem: Call, text: str, words: str) -> None:
    said = pmem("bank", "add", text)
    assert said.code == 2
    assert words in said.err
    assert not (project / ".pmem").exists()


def test_an_entry_of_a_megabyte_is_refused_in_one_line(project: Path, pmem: Call) -> None:
    said = pmem("bank", "add", "-", stdin="x" * 1_000_000)
    assert said.code == 2
    assert "1000000 characters are too many" in said.err
    assert len(said.err) < 300


def test_the_whole_watch_language_can_be_said(project: Path, pmem: Call) -> None:
    said = pmem(
        *("bank", "add", "Lint first.", "--command", "git commit*", "--command", "git push*"),
        *("--not", "*--dry-run*", "--cwd", "web", "--unless-ran", "*lint*", "--since", "edit"),
        *("--failed-before", "--times", "2", "--until-step", "40"),
    )
    assert said.code == 0, said.err
    assert on_disk(project)["knowledge"][0]["when"] == {
        "command": ["git commit*", "git push*"],
        "not": "*--dry-run*",
        "cwd": "web",
        "unless_ran": "*lint*",
        "since": "edit",
        "failed_before": True,
        "times": 2,
        "until_step": 40,
    }


@pytest.mark.parametrize(
    "watch",
    [
        ("--writes", "src/*"),
        ("--path", "*.env"),
        ("--output", "*TIMED OUT*"),
        ("--finish",),
    ],
)
def test_every_moment_can_be_watched(project: Path, pmem: Call, watch: tuple[str, ...]) -> None:
    assert pmem("bank", "add", "Mind this.", *watch).code == 0
    assert list(on_disk(project)["knowledge"][0]["when"]) == [watch[0].removeprefix("--")]


@pytest.mark.parametrize(
    "watch",
    [
        ("--command", "git [push"),
        ("--command", ""),
        ("--unless-ran", "*lint*"),
        ("--command", "x", "--since", "yesterday"),
        ("--times", "2"),
    ],
)
def test_a_watch_that_does_not_hold_is_told_and_nothing_is_kept(
    project: Path, pmem: Call, watch: tuple[str, ...]
) -> None:
    said = pmem("bank", "add", "Mind this.", *watch)
    assert said.code == 2
    assert said.err.startswith("pmem: ")
    assert said.err.count("\n") == 1
    assert not (project / ".pmem").exists()


def test_entries_are_forgotten_by_their_ids_or_none_is(kept: Path, pmem: Call) -> None:
    said = pmem("bank", "rm", "npm-test", "nothing")
    assert said.code == 1
    assert len(on_disk(kept)["procedural"]) == 2
    said = pmem("bank", "rm", "npm-test", "no-force-push")
    assert said.err == "pmem: forgot npm-test\npmem: forgot no-force-push\n"
    assert [e["id"] for e in on_disk(kept)["procedural"]] == ["npm-run-build"]
    assert "knowledge" not in on_disk(kept)


# --- editing ----------------------------------------------------------------------------------


@pytest.fixture
def editor(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """An editor that is a shell script on the file `$1`."""

    def make(script: str) -> dict[str, str]:
        path = tmp_path / "editor with a space"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return {"EDITOR": f"'{path}'", "TMPDIR": str(tmp_path)}

    return make


Editor = Callable[[str], dict[str, str]]


def test_one_entry_is_edited_and_becomes_the_users_own(
    kept: Path, pmem: Call, editor: Editor
) -> None:
    said = pmem("bank", "edit", "no-force", env=editor('sed -i s/never/NEVER/ "$1"'))
    assert (said.code, said.err) == (0, "pmem: 1 change kept\n")
    (entry,) = on_disk(kept)["knowledge"]
    assert "NEVER force-push" in entry["content"]
    assert entry["when"] == {"command": "git push *--force*"}
    assert entry["source"] == "user"


def test_the_whole_bank_is_edited(kept: Path, pmem: Call, editor: Editor) -> None:
    script = "\n".join(
        (
            'grep -q npm-run-build "$1" || exit 9',
            'printf \'\\n[[knowledge]]\\ncontent = "Node 22 only."\\n\' >> "$1"',
        )
    )
    said = pmem("bank", "edit", env=editor(script))
    assert said.err == "pmem: 1 change kept\n"
    assert [e["id"] for e in on_disk(kept)["knowledge"]] == ["no-force-push", "node-22-only"]
    assert on_disk(kept)["knowledge"][1]["source"] == "user"


def test_what_others_wrote_while_the_editor_was_open_is_kept(
    kept: Path, pmem: Call, editor: Editor, home: Path
) -> None:
    import sys

    other = f"HOME={home} {sys.executable} -m pmem bank add --dir {kept}/.pmem Meanwhile"
    said = pmem("bank", "edit", env=editor(f'{other} 2>/dev/null; sed -i s/never/NEVER/ "$1"'))
    assert said.err == "pmem: 1 change kept\n"
    assert [e["id"] for e in on_disk(kept)["knowledge"]] == ["no-force-push", "meanwhile"]
    assert "NEVER" in on_disk(kept)["knowledge"][0]["content"]


def test_an_entry_taken_out_in_the_editor_is_forgotten(
    kept: Path, pmem: Call, editor: Editor
) -> None:
    pmem("bank", "add", "--id", "mine", "Node 22 only.")
    for id in ("npm-test", "mine"):  # what a person wrote is that person's to take out
        assert pmem("bank", "edit", id, env=editor(': > "$1"')).err == "pmem: 1 change kept\n"
    assert [e["id"] for e in on_disk(kept)["procedural"]] == ["npm-run-build"]
    assert [e["id"] for e in on_disk(kept)["knowledge"]] == ["no-force-push"]


def test_an_editor_left_without_a_change_changes_nothing(
    kept: Path, pmem: Call, editor: Editor
) -> None:
    before = (kept / ".pmem" / "bank.toml").read_bytes()
    assert pmem("bank", "edit", env=editor("true")).err == "pmem: nothing changed\n"
    assert (kept / ".pmem" / "bank.toml").read_bytes() == before


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('echo "[[knowledge" >> "$1"', "line"),
        ('printf "[[knowledge]]\\nid = 5\\n" >> "$1"', "id"),
        ("sed -i 's/git push/git [push/' \"$1\"", "no-force-push"),
        ('printf "\\377" >> "$1"', "UTF-8"),
        ('echo "# mine" >> "$1"; exit 3', "ended with 3"),
    ],
)
def test_a_mistake_in_the_editor_loses_nothing(
    kept: Path, pmem: Call, editor: Editor, script: str, words: str
) -> None:
    before = (kept / ".pmem" / "bank.toml").read_bytes()
    said = pmem("bank", "edit", env=editor(script))
    assert said.code == 1
    assert words in said.err
    assert said.err.count("\n") == 1
    draft = Path(said.err.rstrip("\n").partition("your text is kept in ")[2])
    assert b"no-force-push" in draft.read_bytes()
    assert (kept / ".pmem" / "bank.toml").read_bytes() == before


def test_without_an_editor_the_way_round_is_told(kept: Path, pmem: Call) -> None:
    said = pmem("bank", "edit", env={"PATH": "/nowhere"})
    assert said.code == 125
    assert "set EDITOR, or edit the file: pmem bank path" in said.err
    said = pmem("bank", "edit", env={"EDITOR": "/no/such/editor"})
    assert "cannot start /no/such/editor" in said.err


def test_a_huge_entry_written_by_hand_does_not_flood_the_screen(pmem: Call, project: Path) -> None:
    pmem("bank", "add", "small")
    file = project / ".pmem" / "bank.toml"
    file.write_text(f'{file.read_text()}\n[[knowledge]]\nid = "huge"\ncontent = "{"x" * 10**6}"\n')
    listed = pmem("bank", "list", columns=80)
    assert listed.code == 0
    assert len(listed.out) < 3000
    assert "1000000 characters: pmem bank show huge" in " ".join(listed.out.split())
