"""How long starting a program under pmem takes, beside what cannot be avoided.

`python benchmarks/startup.py [--runs N] [--json]`. Wall-clock milliseconds; the subjects take
turns, so that a busy moment of the machine falls on all of them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUBJECTS = {
    "true": ["true"],
    "python -c pass": [sys.executable, "-c", "pass"],
    "import click, pexpect": [sys.executable, "-c", "import click, pexpect"],
    "pmem --version": [sys.executable, "-m", "pmem", "--version"],
    "pmem run -- true": [sys.executable, "-m", "pmem", "run", "--", "true"],
    "pmem run -- true (terminal)": [sys.executable, "-m", "pmem", "run", "--", "true"],
    "pmem run -- true (off)": [sys.executable, "-m", "pmem", "run", "--", "true"],
}


def milliseconds(command: list[str], env: dict[str, str], cwd: Path) -> float:
    """One run, from before the fork until it is reaped."""
    began = time.perf_counter()
    subprocess.run(command, env=env, cwd=cwd, capture_output=True, check=True)
    return (time.perf_counter() - began) * 1000


def in_terminal(command: list[str], env: dict[str, str], cwd: Path) -> float:
    """The same in a pty, until all that is written there is read."""
    master, slave = pty.openpty()
    began = time.perf_counter()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
    program = subprocess.Popen(command, env=env, cwd=cwd, start_new_session=True, **streams)
    os.close(slave)
    with contextlib.suppress(OSError):  # Linux tells the end so
        while os.read(master, 1 << 16):
            pass
    os.close(master)
    if program.wait() != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return (time.perf_counter() - began) * 1000


def measure(runs: int) -> dict[str, dict[str, float]]:
    """Median and fastest run of each subject, in milliseconds, in a HOME of its own."""
    times: dict[str, list[float]] = {name: [] for name in SUBJECTS}
    with tempfile.TemporaryDirectory(prefix="start-") as directory:
        home = Path(directory)
        project = home / "project"
        project.mkdir()
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PMEM", "XDG_"))}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # it is compiled where it is installed
        env |= {"HOME": str(home), "PYTHONPATH": str(Path(__file__).parent.parent)}
        for turn in range(runs + 1):
            for name, command in SUBJECTS.items():
                off = {"PMEM": "off"} if name.endswith("(off)") else {}
                run = in_terminal if name.endswith("(terminal)") else milliseconds
                taken = run(command, env | off, project)
                if turn:  # the first one fills the caches
                    times[name].append(taken)
    return {
        name: {"median_ms": round(statistics.median(t), 1), "min_ms": round(min(t), 1)}
        for name, t in times.items()
    }


def table(results: dict[str, dict[str, float]]) -> str:
    """The results as a Markdown table."""
    base = results["import click, pexpect"]["median_ms"]
    rows = [
        f"| `{name}` | {r['median_ms']:.0f} | {r['min_ms']:.0f} | {r['median_ms'] / base:.2f} |"
        for name, r in results.items()
    ]
    head = ["| | median ms | fastest ms | to `import click, pexpect` |", "|---|---|---|---|"]
    return "\n".join([*head, *rows])


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    results = measure(asked.runs)
    print(json.dumps(results, indent=2) if asked.json else table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
