"""What opening a session costs review, with few and with very many steps in it.

`python benchmarks/review.py [--steps N,N,…] [--json]`. Milliseconds from the session's directory to
the first screen of 80 x 24, and what is read for it in bytes and records; then the same for a jump
to the step in the middle.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "review"))

from made import long_session

from pmem.review.desk import Desk
from pmem.review.screen import drawn
from pmem.review.view import View
from pmem.store.bank_file import BankFile
from pmem.store.project import Project
from pmem.store.sessions import session_info

RUNS = 15


def opened(place: Path, bank: BankFile, middle: int | None) -> tuple[float, int, int]:
    """Milliseconds, bytes and records until the first screen, at the end or at a step."""
    began = time.perf_counter()
    view = View("benchmark", [], Desk(bank))
    view.open(session_info(place), middle)
    drawn(view, 80, 24)
    took = (time.perf_counter() - began) * 1000
    assert view.recorded is not None
    both = (view.recorded.steps, view.recorded.decisions)
    return took, sum(r.bytes_read for r in both), sum(r.records_read for r in both)


def measured(place: Path, bank: BankFile, middle: int | None) -> dict[str, Any]:
    """The median of several runs."""
    runs = [opened(place, bank, middle) for _ in range(RUNS)]
    return {
        "median_ms": round(statistics.median(run[0] for run in runs), 2),
        "bytes": runs[0][1],
        "records": runs[0][2],
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", default="500,5000,50000")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        bank = BankFile(Project(root, root / ".pmem", root / "state"))
        for n, steps in enumerate(int(word) for word in options.steps.split(",")):
            place = long_session(root / "state", steps, f"20261130-11420{n}-made")
            found[f"{steps} steps"] = measured(place, bank, None)
            found[f"{steps} steps, to the middle"] = measured(place, bank, steps // 2)
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    print("| | median ms | bytes read | records read |\n|---|---|---|---|")
    for name, row in found.items():
        print(f"| {name} | {row['median_ms']:.1f} | {row['bytes']:,} | {row['records']} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
