"""How long one hook event takes, beside the bare start of the interpreters.

`python benchmarks/hook.py [--runs N] [--json]`. Wall-clock milliseconds of a whole hook as an
agent runs it (`/bin/sh -c LINE`, the payload of a finished command on stdin) against a running
session that records it. The subjects take turns, so that a busy moment falls on all of them.

`pmem` is the hook of `pmem claude`, `pmem attached` that of an attached project.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pmem.hook.line import attached_command, hook_command  # noqa: E402
from pmem.session import process  # noqa: E402
from pmem.store.project import find_project  # noqa: E402
from pmem.store.settings import Settings  # noqa: E402

OUTPUT = "main.c:3: fatal error: db.h: No such file or directory\n" * 10


def payload(turn: int, cwd: Path) -> bytes:
    """What Claude Code tells of a command that failed, about 1 KB."""
    return json.dumps(
        {
            "session_id": "bench",
            "transcript_path": str(cwd / "none.jsonl"),
            "cwd": str(cwd),
            "hook_event_name": "PostToolUseFailure",
            "tool_name": "Bash",
            "tool_input": {"command": f"make target{turn}"},
            "tool_use_id": f"toolu_{turn}",
            "error": f"Exit code 2\n{OUTPUT}",
            "duration_ms": 12,
        }
    ).encode()


def milliseconds(words: list[str], data: bytes, env: Mapping[str, str]) -> float:
    """One run, from before the fork until it is reaped."""
    began = time.perf_counter()
    subprocess.run(words, input=data, env=env, capture_output=True, check=True)
    return (time.perf_counter() - began) * 1000


def measure(runs: int) -> dict[str, dict[str, float]]:
    """Median, p90 and fastest run of each subject in milliseconds, and its ratio to bare Python."""
    with tempfile.TemporaryDirectory(prefix="hook-") as directory:
        home = Path(directory)
        project = home / "project"
        project.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PMEM", "XDG_"))}
        env = {**kept, "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
        config = process.SessionConfig(find_project(project, env), Settings(), "claude")
        running = process.start(config, env)
        running.link.wait_ready(10)
        agent = subprocess.Popen(["sleep", "600"])  # an agent's process for the attached session
        attached = attached_command("claude").replace('"$PPID"', str(agent.pid))
        subjects: dict[str, tuple[list[str], Mapping[str, str]]] = {
            "pmem": (["/bin/sh", "-c", hook_command("claude")], {**env, **running.env}),
            "pmem attached": (["/bin/sh", "-c", attached], env),
            "python -c pass": ([sys.executable, "-c", "pass"], env),
            "python -ISE -c pass": ([sys.executable, "-ISE", "-c", "pass"], env),
            "/bin/sh -c true": (["/bin/sh", "-c", "true"], env),
        }
        node = shutil.which("node")
        if node:
            subjects["node -e ''"] = ([node, "-e", ""], env)
        try:
            os.chdir(project)
            milliseconds(*_run(subjects["pmem attached"], payload(0, project)))
            _wait(lambda: (home / "pmem" / f"a{agent.pid}" / "t").exists())
            time.sleep(1)  # the session is warm
            times: dict[str, list[float]] = {name: [] for name in subjects}
            for turn in range(runs + 1):
                for name, subject in subjects.items():
                    taken = milliseconds(*_run(subject, payload(turn, project)))
                    if turn:  # the first one fills the caches
                        times[name].append(taken)
        finally:
            os.chdir(ROOT)
            running.link.close()
            agent.kill()
            agent.wait()
            _wait(lambda: not (home / "pmem").exists())
    base = statistics.median(times["python -c pass"])
    return {name: summary(taken, base) for name, taken in times.items()}


def summary(taken: list[float], base: float) -> dict[str, float]:
    """Median, p90 and minimum, and the median as a multiple of bare Python's, `base`."""
    ordered = sorted(taken)
    return {
        "median_ms": round(statistics.median(ordered), 2),
        "p90_ms": round(ordered[int(len(ordered) * 0.9)], 2),
        "min_ms": round(ordered[0], 2),
        "to_python": round(statistics.median(ordered) / base, 2),
    }


def _run(
    subject: tuple[list[str], Mapping[str, str]], data: bytes
) -> tuple[list[str], bytes, Mapping[str, str]]:
    words, env = subject
    return words, data, env


def _wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not until() and time.monotonic() < end:
        time.sleep(0.02)


def table(results: dict[str, dict[str, float]]) -> str:
    """The results as a Markdown table."""
    rows = [
        f"| `{name}` | {r['median_ms']:.1f} | {r['p90_ms']:.1f} | {r['to_python']:.2f} |"
        for name, r in results.items()
    ]
    head = ["| | median ms | p90 ms | to `python -c pass` |", "|---|---|---|---|"]
    return "\n".join([*head, *rows])


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    results = measure(asked.runs)
    print(json.dumps(results, indent=2) if asked.json else table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
