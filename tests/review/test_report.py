"""`pmem report`: one page that says what happened, and loads nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browsers import looked_at
from calling import called
from made import ID, replayed

from pmem.core.bank import UpdateStatus
from pmem.core.step import Step
from pmem.review.after import HELPED, REPEATED, UNCLEAR, after
from pmem.review.recorded import Mark
from pmem.review.timeline import COLUMNS, timeline
from pmem.store.bank_file import BankFile
from pmem.store.project import Project, find_project
from pmem.store.session_log import SessionLog


class Page(HTMLParser):
    """What a page says, which tags it has, and where it would reach to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.reaches: list[str] = []
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._style = tag == "style"
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "data", "action") and value:
                self.reaches.append(value)

    def handle_endtag(self, tag: str) -> None:
        self._style = False

    def handle_data(self, data: str) -> None:
        if not self._style:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def test_the_page_of_a_session_tells_each_reminder_before_and_after(project: Project) -> None:
    code, page, _ = called(project, "report", "-o", "-")
    assert code == 0
    told = Page(page).text
    for words in (
        "60 steps",
        "Step 41",
        "빌드가 먼저다",
        "about to do npm test",
        "with the result of the action it concerns",
        "npm-test npm test in api/: failed at steps 9, 12",
        "put the action back, once",
        "seems to have helped",
        "Once it had something to say and chose silence",
        "the last step (step 19) shows it already",
        "What these figures cannot show",
        "$0.0031",
    ):
        assert words in told, words
    came = "first step 42, <code>npm run build</code>; then step 43 did it, and it passed"
    assert came in page


def test_what_was_printed_is_text_and_nothing_is_loaded(project: Project) -> None:
    log = SessionLog(project.state, "20261201-000000-x", {"agent": "x", "task": "<img src=x>"})
    log.step(Step(1, "command", "<script>alert(1)</script>", "</code>", exit_code=1))
    log.decision({"before_step": 1, "decision": "remind", "text": "<b onload=x>&", "entries": []})
    log.close()
    _, page, _ = called(project, "report", "20261201", "-o", "-")
    seen = Page(page)
    assert {"script", "img"}.isdisjoint(seen.tags)
    assert "<b onload=x>&" in seen.text
    assert all(to.startswith(("#", "data:,")) for to in seen.reaches)
    assert re.search(r"url\(|@import|https?://", page) is None


def test_the_status_is_told_nowhere(project: Project) -> None:
    bank = BankFile(project)
    bank.apply([UpdateStatus("private words of the memory agent")])
    bank.close()
    (project.state / ID / "bank.toml").write_bytes(project.bank.read_bytes())
    for args in (("report", "-o", "-"), ("report", "--all", "-o", "-")):
        assert "private words" not in called(project, *args)[1]


def test_all_sessions_add_up(project: Project) -> None:
    log = SessionLog(project.state, "20261201-000000-codex", {"agent": "codex", "started": 2e9})
    for n in (1, 2, 3):
        log.step(Step(n, "command", "make", "no rule\n", exit_code=2))
    log.decision(
        {"before_step": 3, "decision": "remind", "trigger": "failure", "reason": "loop",
         "text": "`make` failed", "cited": [{"id": "make", "content": "", "command": "make"}]}
    )  # fmt: skip
    log.close()
    figures = json.loads(called(project, "report", "--all", "--json")[1])
    assert figures == {
        "sessions": 2,
        "steps": 63,
        "acting": 62,
        "failed": 6,
        "repeated_failures": 4,
        "reminders": 3,
        "holds": 1,
        "seem_to_have_helped": 2,
        "not_followed": 1,
        "cannot_be_told": 0,
        "silences_over_a_candidate": 1,
        "silence_rate": round(1 - 3 / 62, 6),
        "tokens": 940,
        "money": 0.0031,
    }
    code, page, _ = called(project, "report", "--all", "-o", "all.html")
    assert (code, page) == (0, "")
    told = Page((project.root / "all.html").read_text()).text
    assert "Memory spoke 3 times. Seem to have helped: 2 (" in told
    assert "codex" in told


def acted(n: int, command: str, code: int = 0) -> dict[str, object]:
    return {"step": n, "kind": "command", "action": command, "observation": "", "exit_code": code}


WARNED = {"decision": "remind", "trigger": "repeat", "cited": [{"command": "npm test"}]}


@pytest.mark.parametrize(
    ("decision", "following", "verdict"),
    [
        (WARNED, [acted(5, "npm run build"), acted(6, "npm test")], HELPED),
        (WARNED, [acted(5, "npm run build")], HELPED),
        (WARNED, [acted(5, "cd /p && npm test 2>&1 | tail", 1)], REPEATED),
        (WARNED, [acted(5, "ls"), acted(6, "npm test", 1)], REPEATED),
        (WARNED, [acted(5, "npm test")], UNCLEAR),
        (WARNED, [], UNCLEAR),
        ({"decision": "remind"}, [acted(5, "ls")], UNCLEAR),
        # What came with the result cannot have changed the action itself.
        ({**WARNED, "trigger": "proposed", "proposed": "npm test"},
         [acted(5, "npm test", 1), acted(6, "ls")], HELPED),
        ({**WARNED, "trigger": "proposed", "proposed": "npm test"},
         [acted(5, "npm test", 1), acted(6, "npm test", 1)], REPEATED),
        ({**WARNED, "trigger": "proposed", "proposed": "npm test", "hold": True},
         [acted(5, "npm test", 1)], REPEATED),
        ({**WARNED, "trigger": "proposed", "proposed": "npm test"},
         [{**acted(5, "npm test"), "refused": True}], UNCLEAR),
        # What memory named as the way that worked is no repetition.
        ({**WARNED, "proposed": "npm test",
          "cited": [{"command": "CI=1 npm test", "outcome": "succeeded"}]},
         [acted(5, "CI=1 npm test")], HELPED),
        # An edit is known by its file.
        ({"decision": "remind", "trigger": "proposed", "proposed": "Edit src/a.py\n-x\n+y"},
         [{**acted(5, "Edit src/a.py\n-x\n+y", 1), "kind": "edit"},
          {**acted(6, "Edit src/a.py\n-x\n+z", 1), "kind": "edit"}], REPEATED),
    ],
)  # fmt: skip
def test_whether_it_helped_is_a_guess_from_what_came_next(decision, following, verdict) -> None:
    assert after(decision, following).verdict == verdict


@pytest.mark.parametrize(
    ("share", "told"), [(1.0, "100.0 %"), (0.99999, "> 99.9 %"), (0.955, "95.5 %"), (0.0, "0.0 %")]
)
def test_what_is_not_all_is_not_told_as_all(share: float, told: str) -> None:
    from pmem.review.html import percent

    assert percent(share) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("`a < b` failed", "<code>a &lt; b</code> failed"),
        ("a `b", "a `b"),
        ("`<script>`<b>", "<code>&lt;script&gt;</code>&lt;b&gt;"),
    ],
)
def test_what_stands_in_backticks_is_code_and_nothing_is_markup(text: str, told: str) -> None:
    from pmem.review.html import coded

    assert coded(text) == told


@pytest.mark.parametrize("steps", [1, 7, 60, 50_000])
def test_the_picture_is_bounded_however_long_the_session(steps: int) -> None:
    outcomes = [(n, n % 5 == 0) for n in range(1, steps + 1)]
    picture = timeline(outcomes, [(steps, Mark.SPOKE)], steps)
    assert picture.count("<rect") <= 2 * COLUMNS
    assert f"#step-{steps}" in picture


def test_a_file_that_cannot_be_written_is_said(project: Project) -> None:
    code, _, said = called(project, "report", "-o", "no/such/place.html")
    assert code == 125
    assert "name another file" in said


@pytest.mark.parametrize(
    "asked",
    [
        *(["report"], ["report", "--all"], ["report", "--json"], ["report", "-o", "page"]),
        *(["export", "--format", "atif"], ["export", "--format", "markdown", "-o", "page"]),
        *(["bank", "export"], ["bank", "export", "--format", "agents-md", "-o", "page"]),
    ],
    ids=" ".join,
)
def test_where_there_is_nothing_to_write_nothing_is_and_that_is_an_error(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, said = called(find_project(tmp_path, os.environ), *asked)
    assert (code, out) == (1, "")
    assert re.fullmatch(r"pmem: nothing (was recorded|is remembered) here [^\n]+; [^\n]+\n", said)
    assert not (tmp_path / "page").exists()


@pytest.mark.parametrize("asked", [["log"], ["report"], ["export", "--format", "atif"]], ids=str)
@pytest.mark.parametrize("place", ["notes.txt", "."])
def test_a_place_that_is_no_session_s_is_said(
    project: Project, asked: list[str], place: str
) -> None:
    (project.root / "notes.txt").write_text("no step\n")
    code, out, said = called(project, *asked, place)
    assert (code, out) == (1, "")
    assert re.search(r"is no session's|holds no step", said)


def test_a_file_of_steps_is_no_session_to_report_on(project: Project) -> None:
    step = Step(1, "command", "make", "", exit_code=0).to_json()
    (project.root / "run.jsonl").write_text(json.dumps(step) + "\n")
    code, out, said = called(project, "report", "run.jsonl")
    assert (code, out) == (1, "")
    assert "run.jsonl is no session's log; pmem log FILE" in said
    assert called(project, "log", "run.jsonl")[0] == 0


RECORDED = Path(__file__).parent.parent.parent.parent / "shared" / "trajectories" / "steps"


def demonstrated(place: Path) -> Path:
    """The directory of the project that a real `pmem demo` leaves."""
    env = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(Path(__file__).parents[2])}
    demo = [sys.executable, "-m", "pmem", "demo", "--fast"]
    subprocess.run(demo, env=env, check=True, capture_output=True, timeout=120)
    (found,) = place.glob("pmem-demo-*/greet")
    return found


@pytest.mark.slow
def test_a_real_browser_shows_it_without_an_error_or_a_request(
    project: Project, tmp_path: Path, short_dir: Path
) -> None:
    """The demonstration, a recorded run of sixty steps, and all sessions together."""
    source = RECORDED / "cc-validation-tests.jsonl"
    if source.exists():
        replayed(project, source)
    demo = find_project(demonstrated(tmp_path), os.environ)
    pages = []
    for made, args in (
        (demo, ("report", "-o", "demo.html")),
        (project, ("report", "-o", "one.html")),
        (project, ("report", "--all", "-o", "all.html")),
    ):
        assert called(made, *args)[0] == 0
        pages.append(made.root / args[-1])
    for seen in looked_at(pages, short_dir):
        assert seen["errors"] == []
        assert seen["requests"] == [seen["url"]]
        assert (seen["paper"] > seen["ink"]) is (seen["scheme"] == "light")
        assert seen["overflow"] <= 0
        assert seen["narrow_overflow"] <= 0
        assert seen["narrowest_cell"] >= 100  # words stay words on a phone
        assert seen["smallest_tick"] >= 7
        assert seen["printed_paper"] == 255
