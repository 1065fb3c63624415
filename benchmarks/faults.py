"""Faults done to pmem, and what came of each: the table of docs/reliability.md.

`python benchmarks/faults.py [--runs N] [--only NAME] [--json] [--write]`. `kill -9` is tried at
every point where the store touches the disk, the other faults N times. Linux only: a full and a
read-only file system are mounted, which takes root. The harness is that of tests/trust.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HARNESS = ROOT / "tests" / "trust" / "faults.py"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- faults: generated -->\n", "<!-- end of faults -->"
sys.path[:0] = [str(ROOT), str(HARNESS.parent)]


def row(name: str, runs: int) -> dict[str, Any]:
    """What came of one fault, in directories of its own."""
    with tempfile.TemporaryDirectory(prefix="pf-", dir="/tmp") as place:
        env = {name: value for name, value in os.environ.items() if not name.startswith("PMEM")}
        env |= {
            "PYTHONPATH": os.pathsep.join(sys.path[:2]),
            "HOME": place,
            "XDG_STATE_HOME": f"{place}/state",
            "XDG_RUNTIME_DIR": place,
        }
        done = subprocess.run(
            [sys.executable, str(HARNESS), name, str(runs), f"{place}/p"],
            capture_output=True,
            text=True,
            env=env,
        )
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def table(rows: dict[str, dict[str, Any]]) -> str:
    """The rows for a page."""
    lines = ["| fault | runs | lost | how it goes on |", "|---|---|---|---|"]
    for told in rows.values():
        if "cannot" in told:
            continue
        lost = "nothing" if not told["lost"] else f"**{len(told['lost'])}**"
        wrong = f" **{'; '.join(told['wrong'][:3])}**" if told["wrong"] else ""
        lines.append(f"| {told['fault']} | {told['runs']} | {lost} | {told['recovered']}{wrong} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    from faults import FAULTS

    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--only", choices=list(FAULTS))
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", action="store_true", help="put the table into the page")
    chosen = options.parse_args()
    rows = {}
    for name in [chosen.only] if chosen.only else FAULTS:
        runs = 0 if name == "kill_at_every_point" else chosen.runs
        rows[name] = row(name, 3 if name == "huge_outputs" else runs)
    untried = [f"{name}: {told['cannot']}" for name, told in rows.items() if "cannot" in told]
    if chosen.write and (untried or chosen.only):
        sys.exit(f"the page is left as it is: {'; '.join(untried) or 'it holds all faults'}")
    if chosen.write:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}{table(rows)}{end}{after}", "utf-8")
    print(json.dumps(rows, indent=2) if chosen.json else table(rows), end="")
    sys.exit(any(told.get("lost") or told.get("wrong") for told in rows.values()))


if __name__ == "__main__":
    main()
