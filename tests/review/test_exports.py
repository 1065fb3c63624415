"""A session for other programs: each export is read by the program it is made for."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from calling import called
from harbors import refused
from hypothesis import given
from hypothesis import strategies as st
from made import ID, SPOKE
from programs import asciinema

from pmem.agents.transcripts.read import read
from pmem.core.step import KINDS, Step
from pmem.review.exports import atif, cast, markdown
from pmem.review.exports.run import Run, load
from pmem.store.project import Project
from pmem.store.session_log import SessionLog, read_steps

RECORDED = Path(__file__).parent.parent.parent.parent / "shared" / "trajectories" / "steps"

TEXTS = st.text(max_size=30)
STEPS = st.lists(
    st.builds(
        Step,
        number=st.integers(1, 99),
        kind=st.sampled_from(KINDS),
        action=TEXTS,
        observation=TEXTS,
        exit_code=st.none() | st.integers(-1, 255),
        started=st.none() | st.floats(0, 2e9),
        thought=TEXTS,
        call_id=st.none() | st.sampled_from(["a", "b"]),
        tool=st.sampled_from(["", "Bash"]),
        refused=st.booleans(),
        turn=st.none() | st.integers(0, 9),
    ),
    min_size=1,
    max_size=8,
)


def written(project: Project, kind: str, *args: str) -> str:
    code, out, said = called(project, "export", *args, "--format", kind)
    assert code == 0, said
    return out


@pytest.mark.slow
def test_harbor_accepts_every_recorded_run(project: Project, tmp_path: Path) -> None:
    paths = []
    for source in [*sorted(RECORDED.glob("*.jsonl")), project.state / ID]:
        path = tmp_path / f"{source.stem}.json"
        path.write_text(written(project, "atif", str(source)))
        paths.append(path)
    assert refused(paths) == {}


@pytest.mark.slow
def test_harbor_accepts_whatever_was_recorded(tmp_path: Path) -> None:
    paths: list[Path] = []

    @given(steps=STEPS, task=TEXTS)
    def make(steps: list[Step], task: str) -> None:
        path = tmp_path / f"{len(paths)}.json"
        path.write_text(json.dumps(atif.document(Run("id", {"task": task}, steps))))
        paths.append(path)

    make()
    assert refused(paths) == {}


def test_a_trajectory_is_read_back_as_it_was(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(written(project, "atif"))
    ours = [s for s in load(project.state / ID).steps if s.kind in ("command", "user")]
    back = [s for s in read(path).steps if s.kind in ("command", "user")]
    assert [(s.kind, s.action, s.observation, s.exit_code) for s in back] == [
        (s.kind, s.action, s.observation, s.exit_code) for s in ours
    ]


def test_what_memory_decided_stands_at_its_step(project: Project) -> None:
    steps = json.loads(written(project, "atif"))["steps"]
    (step,) = [s for s in steps if s["extra"]["pmem"].get("step") == SPOKE]
    (decision,) = step["extra"]["pmem"]["decisions"]
    assert decision["decision"] == "remind"
    assert decision["cited"][0]["id"] == "npm-test"


def test_asciinema_plays_the_cast(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "session.cast"
    path.write_text(written(project, "asciicast"))
    played = subprocess.run(
        [*asciinema(), "play", "--speed", "10000", "--idle-time-limit", "0.001", str(path)],
        capture_output=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert played.returncode == 0, played.stderr
    shown = played.stdout.decode()
    assert "$ npm run build" in shown
    assert "[MEMORY REMINDER] `npm test` in api/ failed twice alike" in shown


def test_a_recorded_terminal_is_exported_as_it_was(project: Project) -> None:
    recorded = '{"version": 2, "width": 80, "height": 24}\n[0.1, "o", "$ ls\\r\\n"]\n'
    (project.state / ID / "terminal.cast").write_text(recorded)
    assert written(project, "asciicast") == recorded


@given(steps=STEPS)
def test_any_session_makes_a_cast_in_which_time_goes_on(steps: list[Step]) -> None:
    head, *events = [json.loads(line) for line in cast.lines(Run("id", {}, steps))]
    assert head["version"] == 2
    times = [at for at, _, _ in events]
    assert times == sorted(times)


@given(steps=STEPS)
def test_no_output_breaks_out_of_its_block(steps: list[Step]) -> None:
    told = markdown.text(Run("id", {"task": "```"}, steps))
    for step in steps:
        assert f"## Step {step.number}: " in told
    open_fence = ""
    for line in told.splitlines():
        if not open_fence and line.startswith("```"):
            open_fence = line[: len(line) - len(line.lstrip("`"))]
        elif open_fence and line == open_fence:
            open_fence = ""
        elif not open_fence:
            assert line[:1] in ("", "#", ">") or line.endswith(" steps")


def test_markdown_tells_the_story(project: Project) -> None:
    told = written(project, "markdown", "--output", "-")
    assert "> **Memory:** `npm test` in api/ failed twice alike" in told
    assert "repeated_failure; with_result; cites `npm-test`" in told
    assert "```sh\nnpm run build\n```" in told


def test_the_status_is_in_no_export(project: Project) -> None:
    log = SessionLog(project.state, "20261201-000000-x", {"agent": "x"})
    log.step(Step(1, "command", "ls", ""))
    log.close()
    (log.dir / "bank.toml").write_text('schema = 1\n[status]\ncontent = "private words"\n')
    for kind in ("atif", "asciicast", "markdown"):
        assert "private words" not in written(project, kind, "20261201")


def test_what_is_no_session_is_said(project: Project) -> None:
    (project.root / "x.jsonl").write_text("{}\n")
    code, out, said = called(project, "export", "x.jsonl", "--format", "atif")
    assert (code, out) == (1, "")
    assert "holds no step" in said
    assert read_steps(project.root / "x.jsonl").steps == []
