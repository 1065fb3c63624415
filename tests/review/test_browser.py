"""`pmem review` as a person sits before it: a real terminal, real keys, real files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from made import ID, SPOKE, TEXT, npm_test
from screens import Screen

from pmem.core.bank import Amend, PutEntry, SaveKnowledge
from pmem.store.bank_file import BankFile
from pmem.store.project import Project
from pmem.store.sessions import of_session
from pmem.terminal.cells import width

Start = Callable[..., Screen]
SIZES = [(80, 24), (200, 50)]


def written(project: Project) -> BankFile:
    """The bank as it stands in the file."""
    return BankFile(project)


def editing(screen: Screen, id: str, row: str) -> None:
    """An entry's words are in the box; `row` is its line in the bank."""
    screen.keys("B", "/")
    screen.until("filter /")
    screen.type(id)
    screen.until(row)
    screen.keys("Enter")
    screen.until("e edit")
    screen.keys("e")
    screen.until("ctrl-s keeps it")


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_a_person_s_way_through_it(terminal: Start, project: Project, columns, rows) -> None:
    """Open, jump to an intervention, filter, edit an entry, undo, quit."""
    screen = terminal(columns, rows, "review")
    screen.until("❯  60")
    # Why did it say that, at step 41? One key from the end, and all is there.
    screen.keys("[")
    shown = screen.until("● SPOKE")
    assert f"before step {SPOKE}" in shown
    assert "`npm test` in api/ failed twice alike" in shown
    screen.keys("Enter")
    shown = screen.until("cites")
    for words in (
        "proposed: the agent was about to do this",
        "npm test",
        "the model scripted, call 3",
        "the guard let it pass",
        "with_result",
        "first step 42, `npm run build`; then step 43 did it, and it passed",
        "failed at steps 9, 12",
        "as it was then",
    ):
        assert words in re.sub(r"\s+", " ", shown), words
    screen.keys("G")
    screen.until("You are the memory agent.")
    screen.keys("q", "[")
    screen.until("■ HELD")
    # Only what failed, then all again.
    screen.keys("f", "f")
    shown = screen.until("only failed: 3 steps")
    assert len(re.findall(r"✗ 1", shown.split("── ")[0])) >= 2
    screen.keys("q")
    screen.until("❯  ")
    # Find a step by what was done.
    screen.keys("g", "/")
    screen.until("find /")
    screen.type("부분_24")
    screen.keys("Enter")
    screen.until("❯  24")
    # An entry: find it, write it anew, take that back.
    editing(screen, "port", "❯◆    port")
    screen.type(" 포트 5433")
    screen.keys("C-s")
    screen.until("port is changed")
    assert written(project).bank.entries["port"].content.endswith("5433. 포트 5433")
    assert written(project).bank.entries["port"].source == "user"
    screen.keys("u")
    screen.until("undone: port is changed")
    assert written(project).bank.entries["port"].content == "The server listens on port 5433."
    assert written(project).bank.entries["port"].source == "model"
    screen.keys("q", "q")
    screen.until("ended 0")


@pytest.mark.parametrize(("columns", "rows"), [*SIZES, (41, 12)])
def test_every_line_fits_whatever_the_characters(terminal: Start, columns, rows) -> None:
    screen = terminal(columns, rows, "review", "--step", str(SPOKE))
    screen.until("● SPOKE")
    for key in ("Enter", "q", "B", "?", "q", "L"):
        screen.keys(key)
        lines = screen.until(lambda shown: bool(shown.strip())).splitlines()
        assert len(lines) <= rows
        assert max(map(width, lines)) <= columns


def test_without_colour_signs_say_the_same(terminal: Start) -> None:
    screen = terminal(80, 24, "review", "--step", str(SPOKE), NO_COLOR="1")
    screen.until("● SPOKE")
    shown = screen.shown(colours=True)
    assert re.search(r"\x1b\[[\d;]*(?:3[1-7]|9[0-7])", shown) is None
    assert "✓" in shown
    assert "●" in shown


def test_the_mouse_chooses_a_row(terminal: Start) -> None:
    screen = terminal(80, 24, "review", "--step", str(SPOKE))
    shown = screen.until("● SPOKE")
    row = next(n for n, line in enumerate(shown.splitlines()) if re.match(r".\s+39 ", line))
    for kind in ("M", "m"):
        screen.type(f"\x1b[<0;20;{row + 1}{kind}")
    screen.until("❯  39")


def test_a_step_is_reached_by_its_number(terminal: Start) -> None:
    screen = terminal(80, 24, "review")
    screen.until("❯  60")
    screen.keys("4", "1")
    screen.until("step 41")
    screen.keys("G")
    screen.until("● SPOKE")


def test_a_text_is_found_round_the_end(terminal: Start) -> None:
    screen = terminal(80, 24, "review")
    screen.until("❯  60")
    screen.keys("/")
    screen.type("NPM RUN build")
    screen.keys("Enter")
    screen.until("❯  14")
    screen.until("from the beginning again")
    screen.keys("n")
    screen.until("❯  42")
    screen.keys("N", "N")
    screen.until("from the end again")
    screen.keys("/")
    screen.type("nowhere at all")
    screen.keys("Enter")
    screen.until("nowhere at all stands in no step")


def test_what_is_pinned_and_deleted_can_be_had_back(terminal: Start, project: Project) -> None:
    screen = terminal(80, 24, "review")
    screen.until("❯  60")
    screen.keys("B", "*")
    screen.until("port is pinned")
    assert written(project).bank.entries["port"].tags == ("pinned",)
    screen.keys("d")
    screen.until("forgot port")
    assert "port" not in written(project).bank.entries
    screen.keys("u", "u")
    screen.until("undone: port is pinned")
    assert written(project).bank.entries["port"].tags == ()
    screen.keys("a")
    screen.until("a new fact")
    screen.type("The cache lies in /var/tmp.")
    screen.keys("C-s")
    screen.until("remembered the-cache-lies-in-var-tmp")
    assert written(project).bank.entries["the-cache-lies-in-var-tmp"].source == "user"


def test_an_edit_beside_another_session_loses_nothing(terminal: Start, project: Project) -> None:
    """The session writes other entries and other fields: both stay, without a question."""
    screen = terminal(80, 24, "review")
    screen.until("❯  60")
    editing(screen, "npm-test", "❯✗    npm-test")
    session = written(project)
    session.apply(
        [
            PutEntry(replace(npm_test(), attempts=3, failed_steps=(9, 12, 61))),
            SaveKnowledge("new", "written meanwhile"),
        ]
    )
    assert session.close()
    screen.type(" Mine.")
    screen.keys("C-s")
    screen.until("npm-test is changed")
    entries = written(project).bank.entries
    assert entries["npm-test"].content.endswith(" Mine.")
    assert entries["npm-test"].failed_steps == (9, 12, 61)
    assert entries["new"].content == "written meanwhile"


@pytest.mark.parametrize(
    ("key", "kept"), [("m", "Mine."), ("t", "Theirs."), ("Escape", "Mine. And theirs.")]
)
def test_a_conflict_is_shown_and_the_person_decides(terminal, project, key, kept) -> None:
    screen = terminal(80, 24, "review")
    screen.until("❯  60")
    editing(screen, "port", "❯◆    port")
    other = written(project)
    before = other.bank.entries["port"].content
    other.apply([Amend("port", {"content": before}, {"content": "Theirs."})])
    assert other.close()
    screen.type(" Mine.")
    screen.keys("C-s")
    shown = screen.until("changed by two hands")
    assert "Theirs." in shown
    assert "Mine." in shown
    screen.keys(key)
    screen.until(lambda now: "changed by two hands" not in now)
    if key == "Escape":
        screen.until("ctrl-s keeps it")
        screen.type(" And theirs.")
        screen.keys("C-s")
        screen.until("port is changed")
    assert written(project).bank.entries["port"].content.endswith(kept)


def test_what_is_stale_says_why_and_can_go(terminal: Start, project: Project) -> None:
    bank = written(project)
    stale = replace(
        npm_test(), id="old", content="old news", command="", stale="a.toml has changed"
    )
    bank.apply([PutEntry(stale)])
    assert bank.close()
    screen = terminal(80, 24, "review")
    screen.until("❯  60")
    screen.keys("B", "/")
    screen.type("stale")
    screen.until("STALE: a.toml has changed")
    screen.keys("Enter", "D")
    screen.until("forgot old")
    assert "old" not in written(project).bank.entries
    screen.keys("u")
    screen.until("undone")
    assert written(project).bank.entries["old"] == stale


@pytest.mark.parametrize(
    ("text", "why"), [("schema = 99\n", "it has schema 99"), ("[[[ half", "Invalid")]
)
def test_a_bank_that_cannot_be_read_is_not_shown_as_an_empty_one(
    terminal: Start, project: Project, text: str, why: str
) -> None:
    """Spoilt while review is open: what was read last stays, and it says so; then it is mended."""
    good = project.bank.read_bytes()
    screen = terminal(160, 24, "review", "--step", str(SPOKE))
    screen.until("as it is now")
    project.bank.write_text(text)
    screen.until(f"bank.toml cannot be read: {why}")
    screen.keys("B")
    shown = screen.until("the last good ones")
    assert "no-force-push" in shown
    assert project.bank.read_text() == text
    project.bank.write_bytes(good)
    screen.until("the bank can be read again")
    screen.keys("q", "q")
    screen.until("ended 0")


def test_what_became_of_an_entry_is_not_known_without_the_bank(
    terminal: Start, project: Project
) -> None:
    project.bank.write_text("schema = 99\n")
    screen = terminal(120, 50, "review", "--step", str(SPOKE))
    shown = screen.until("is not known")
    assert "deleted" not in shown
    screen.keys("B")
    shown = screen.until("bank.toml cannot be read: it has schema 99")
    assert "nothing yet" not in shown
    assert "a adds a fact" not in shown


def test_the_entry_that_comes_back_is_the_chosen_one(terminal: Start, project: Project) -> None:
    before = written(project).bank.entries
    screen = terminal(80, 24, "review")
    screen.until("❯  60")
    screen.keys("B", "d")
    screen.until("(u brings it back)")
    (gone,) = before.keys() - written(project).bank.entries.keys()
    screen.keys("u")
    shown = screen.until("undone: forgot")
    assert "brings it back" not in shown
    assert gone in next(line for line in shown.splitlines() if line.startswith("❯"))


def test_a_step_that_is_not_there_is_said(terminal: Start) -> None:
    screen = terminal(80, 24, "review", "--step", "900")
    assert "❯  60" in screen.until("there is no step 900; the session has 60 steps")


def test_a_joined_emoji_moves_nothing_on_the_screen(terminal: Start, project: Project) -> None:
    bank = written(project)
    bank.apply([SaveKnowledge("family", "👩\u200d👩\u200d👧 🇰🇷 ❤\ufe0f first, then the rest")])
    assert bank.close()
    screen = terminal(200, 50, "review")
    screen.until("❯  60")
    screen.keys("B", "/")
    screen.type("family")
    shown = screen.until("👩👩👧 KR ❤ first, then the rest")
    columns = {
        width(line[: line.index("│", 60)]) for line in shown.splitlines() if "│" in line[60:]
    }
    assert len(columns) == 1


def test_a_running_session_appears(terminal: Start, project: Project) -> None:
    from pmem.core.step import Step
    from pmem.store.session_log import SessionLog

    log = SessionLog(project.state, "20261130-200000-codex", {"agent": "codex"})
    log.step(Step(1, "command", "make one", "", exit_code=0))
    screen = terminal(120, 24, "review")
    screen.until("running, 1 step")
    log.step(Step(2, "command", "make two", "boom\n", exit_code=2))
    log.decision({"before_step": 3, "decision": "remind", "trigger": "failure", "text": TEXT})
    shown = screen.until("● SPOKE")
    assert "make two" in shown
    log.close()


def test_a_session_with_a_bank_of_its_own_shows_it(terminal: Start, project: Project) -> None:
    own = BankFile(of_session(project, ID))
    own.apply([SaveKnowledge("own", "known to this session alone")])
    assert own.close()
    screen = terminal(80, 24, "review")
    screen.until("❯  60")
    screen.keys("B")
    shown = screen.until("known to this session alone")
    assert "no-force-push" not in shown
    screen.keys("d")
    screen.until("forgot own")
    assert BankFile(of_session(project, ID)).bank.entries == {}


@pytest.mark.parametrize("terminal", [False, True])
def test_without_a_terminal_that_can_be_drawn_on_it_says_what_does(
    project: Project, terminal: bool
) -> None:
    import io

    from pmem.cli.environment import Environment
    from pmem.cli.main import run

    said = io.StringIO()
    here = Environment(
        io.StringIO(),
        io.StringIO(),
        said,
        {"TERM": "dumb" if terminal else "xterm"},
        project.root,
        stdin_isatty=terminal,
        stdout_isatty=terminal,
    )
    assert run(["review"], here) == 2
    assert "pmem log" in said.getvalue()
