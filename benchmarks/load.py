"""Many sessions on one bank, and a session of a week: what is kept, how long a hook takes, memory.

`python benchmarks/load.py [--sessions N] [--steps N] [--week N] [--json]`. Real session processes
are told of finished commands as hooks tell them, over their sockets, all sessions at once; the
round trip of every one is measured in this process (wall-clock ms). Then one session is told of a
week of steps, and its resident memory is read now and then (Linux only). Ctrl-C ends that early:
what was measured by then is told.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "trust")]

from live import Live, kept, logged  # noqa: E402

#: Commands a session runs in turn; beyond the bank's entries, so that some go to the archive.
COMMANDS = 150
#: Seconds between two steps of one session: what an agent at its fastest leaves.
PACE = 0.05


def work(root: Path, side: int, steps: int, told: int) -> None:
    """One session and its agent: tells every step's milliseconds down the pipe."""
    live = Live(root)
    times = []
    for n in range(steps):
        failed = n % 7 == 3
        command = f"make s{side}-{n % COMMANDS}"
        began = time.perf_counter()
        live.step(command, f"line {n}\n" * 20 + "error: no rule\n" * failed, 2 * failed)
        times.append((time.perf_counter() - began) * 1000)
        time.sleep(PACE)
    summary = live.end()
    line = {"ms": times, "acknowledged": len(live.acknowledged), "bank": summary["bank"]}
    line["trouble"] = live.trouble
    data = (json.dumps(line) + "\n").encode()
    while data:
        data = data[os.write(told, data) :]


def together(root: Path, sessions: int, steps: int) -> dict[str, Any]:
    """So many sessions at once on one bank."""
    read, write = os.pipe()
    pids = []
    for side in range(sessions):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(read)
                work(root, side, steps, write)
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        told = [json.loads(line) for line in pipe]
    ended = [os.waitpid(pid, 0)[1] for pid in pids]
    if any(ended) or len(told) != sessions:
        sys.exit(f"a session failed: {ended}")
    from pmem.store.project import find_project

    project = find_project(root, os.environ)
    times = sorted(ms for one in told for ms in one["ms"])
    found = kept(project)
    return {
        "sessions": sessions,
        "steps": sessions * steps,
        "acknowledged": sum(one["acknowledged"] for one in told),
        "in_logs": len(logged(project)),
        "attempts_in_bank_and_archive": sum(n for c, n in found.items() if c.startswith("make s")),
        "trouble": [one["trouble"] for one in told if one["trouble"]],
        "not_saved": [one["bank"] for one in told if "not saved" in one["bank"]],
        "median_ms": round(statistics.median(times), 2),
        "p99_ms": round(times[int(len(times) * 0.99)], 2),
        "p99_over_median": round(times[int(len(times) * 0.99)] / statistics.median(times), 2),
    }


def one(live: Live, n: int) -> None:
    """A step of a week: much of what an agent does it has done before, some of it never."""
    command = f"pytest tests/test_{n % 300}.py" if n % 3 else f"grep -rn name{n} src/dir{n % 50}"
    failed = n % 11 == 5
    live.step(command, f"output of step {n}\n" * 40 + "E   assert 1 == 2\n" * failed, failed)


def week(root: Path, steps: int) -> dict[str, Any]:
    """One long session: its resident memory, in MB, after so many steps."""
    live = Live(root)
    megabytes: dict[int, float] = {}
    done = 0
    try:
        for done in range(1, steps + 1):
            one(live, done - 1)
            if done in (1000, 2000, 5000, 10_000, 20_000, 50_000, steps):
                megabytes[done] = round(live.memory() / 1e6, 1)
            if sys.stderr.isatty() and done % 100 == 0:
                print(f"\r{done:,} of {steps:,} steps", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        done = len(live.acknowledged)
        megabytes[done] = round(live.memory() / 1e6, 1)
    live.end()
    return {
        "steps": done,
        "acknowledged": len(live.acknowledged),
        "in_logs": len(logged(live.project)),
        "mb_at_steps": megabytes,
    }


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--sessions", type=int, default=8)
    options.add_argument("--steps", type=int, default=1000)
    options.add_argument("--week", type=int, default=100_000)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="pl-", dir="/tmp") as place:
        for name in [n for n in os.environ if n.startswith("PMEM")]:
            del os.environ[name]
        os.environ |= {"HOME": place, "XDG_STATE_HOME": f"{place}/st", "XDG_RUNTIME_DIR": place}
        roots = [Path(place) / name for name in ("many", "long")]
        for root in roots:
            root.mkdir()
        told = {}
        if chosen.sessions:
            told["together"] = together(roots[0], chosen.sessions, chosen.steps)
        if chosen.week:
            told["week"] = week(roots[1], chosen.week)
    if chosen.json:
        print(json.dumps(told, indent=2))
        return
    for subject, values in told.items():
        print(subject, *(f"{key} {value}" for key, value in values.items()), sep="\n  ")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
