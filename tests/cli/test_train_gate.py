"""`pmem train gate`: learned from sessions and from labels, stated on runs left out, and used."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from libraries import scikit_learn
from model_bench import Bench
from worked import FOLLOWED, IGNORED, session, step

from pmem.core.gate import Gate, Weights
from pmem.store.gate_file import load_gate, save_gate

Call = Callable[..., Any]
SHARED = Path(__file__).parents[2].parent / "shared" / "trajectories"
NEVER = Weights(1.0, -60.0)


def train(project: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pmem", "train", "gate", *args],
        cwd=project,
        env={**os.environ, **scikit_learn(), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded runs are not beside this checkout")
def test_on_runs_left_out_precision_rises_and_what_it_costs_is_stated(project: Path) -> None:
    told = train(project, "--dataset", str(SHARED), "-o", "gate.json", "--json")
    assert told.returncode == 0, told.stderr
    figures = json.loads(told.stdout)
    for name in ("calls", "model"):
        found = figures[name]
        assert found["used"]
        assert found["precision_with"] > found["precision_without"]
        assert found["with"] < found["without"]
        assert found["saved"] > 0.1 and found["kept_of_good"] > 0.75
    # 23 good and 4 bad reminders of the rules teach nothing, and nothing is pretended.
    assert not figures["rules"]["used"] and "too few" in figures["rules"]["why"]
    assert figures["rules"]["with"] == figures["rules"]["without"]
    gate = load_gate(project / "gate.json")
    assert set(gate.speak) == {"model"} and gate.ask is not None


def test_a_users_own_sessions_teach_what_was_not_followed(project: Path, tmp_path: Path) -> None:
    """Where builds fail in a row nobody listens here; after a quiet stretch they do."""
    quiet = [step(n, f"touch q{n}") for n in range(1, 9)]
    noisy = [step(n, f"sh part{n}.sh", "error: no", 3) for n in range(1, 9)]
    for n in range(24):
        work, then = (quiet, FOLLOWED) if n % 2 else (noisy, IGNORED)
        session(tmp_path / "in", f"20260101-0000{n:02}-claude", [*work, *then])
    told = train(project, str(tmp_path / "in"), "-o", "gate.json", "--keep", "1", "--json")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)["model"]
    assert found["used"], found
    assert (found["precision_without"], found["precision_with"]) == (0.5, 1.0)
    weights = load_gate(project / "gate.json").speak["model"].weights
    assert weights["failures"] < 0
    again = train(project, str(tmp_path / "in"), "-o", "again.json", "--keep", "1", "--json")
    assert again.stdout == told.stdout
    assert (project / "again.json").read_text() == (project / "gate.json").read_text()


def test_too_little_teaches_nothing_and_writes_nothing(project: Path, tmp_path: Path) -> None:
    session(tmp_path / "in", "20260101-000000-claude", FOLLOWED)
    told = train(project, str(tmp_path / "in"), "-o", "gate.json")
    assert told.returncode == 0 and "no gate is written" in told.stderr
    assert "too few" in told.stdout and not (project / "gate.json").exists()


def test_without_the_library_it_says_how_to_get_it(pmem: Call, tmp_path: Path) -> None:
    session(tmp_path / "in", "20260101-000000-claude", FOLLOWED)
    told = pmem("train", "gate", str(tmp_path / "in"), "-o", str(tmp_path / "gate.json"))
    assert told.code == 125 and "pip install scikit-learn" in told.err


def test_with_no_session_it_says_so(pmem: Call) -> None:
    told = pmem("train", "gate", "-o", "gate.json")
    assert told.code == 1 and "no session is on record here" in told.err


# --- used in a live session ----------------------------------------------------------------------


def play(project: Path, tmp_path: Path, gate: Gate | None) -> tuple[Bench, list[str]]:
    """A session whose model has something to say, under a gate; and the reminders heard."""
    bench = Bench(project, tmp_path)
    path = tmp_path / "gate.json"
    if gate is not None:
        save_gate(path, gate, {})
    printed = bench.play(
        f"model=command:{bench.model}", "yes=1", "mode=sync", once=True, PMEM_GATE=str(path)
    )
    return bench, re.findall(r"-> (\[MEMORY REMINDER\].*)", printed)


def test_a_gate_in_the_settings_keeps_a_session_quiet_and_says_why(
    project: Path, tmp_path: Path
) -> None:
    bench, heard = play(project, tmp_path, Gate({"model": NEVER}))
    assert heard == []
    kept = [d for d in bench.decisions if str(d.get("verdict", "")).startswith("the gate: ")]
    assert len(kept) == 1 and kept[0]["decision"] == "silent" and kept[0]["candidate"]


def test_a_gate_saves_calls_but_not_the_first_ones(project: Path, tmp_path: Path) -> None:
    bench, heard = play(project, tmp_path, Gate(ask=NEVER))
    assert heard == [] and bench.asked == ["manage"]  # after the user's words


def test_a_gate_that_cannot_be_read_is_told_and_not_used(project: Path, tmp_path: Path) -> None:
    bench, heard = play(project, tmp_path, None)
    assert len(heard) == 1
    assert "cannot read the gate" in bench.words and "none is used this time" in bench.words
