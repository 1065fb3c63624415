"""What was acknowledged is there after every fault, and pmem goes on. The same harness with more
runs makes the table in docs/reliability.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from faults import FAULTS

HARNESS = Path(__file__).with_name("faults.py")
ROOT = HARNESS.parents[2]
#: 0 stands for every point there is.
RUNS = {"kill_at_every_point": 0, "kill_a_session": 3}


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_acknowledged_is_lost_and_it_goes_on(
    fault: str, tmp_path: Path, short_dir: Path
) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("the harness mounts a tmpfs and reads /proc")
    paths = (str(ROOT), str(HARNESS.parent))
    done = subprocess.run(
        [sys.executable, str(HARNESS), fault, str(RUNS.get(fault, 1)), str(tmp_path / "p")],
        capture_output=True,
        text=True,
        timeout=240,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "XDG_RUNTIME_DIR": str(short_dir),
        },
    )
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    if "cannot" in row:
        pytest.skip(row["cannot"])
    assert row["runs"] >= 1
    assert (row["lost"], row["wrong"]) == ([], [])
    runs, lost, recovered = written()[row["fault"]]
    assert lost == "nothing"
    assert figures_apart(recovered) == figures_apart(row["recovered"])
    if RUNS.get(fault) == 0:
        assert int(runs) == row["runs"], "python benchmarks/faults.py --write"


def test_the_page_tells_of_every_fault_and_of_no_other() -> None:
    assert len(written()) == len(FAULTS)


def written() -> dict[str, list[str]]:
    """The table in docs/reliability.md: by fault its runs, what was lost, how it goes on."""
    page = (ROOT / "docs" / "reliability.md").read_text("utf-8")
    table = page.partition("<!-- faults: generated -->")[2].partition("<!-- end of faults -->")[0]
    rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()[2:]]
    return {fault: rest for fault, *rest in rows}


def figures_apart(text: str) -> str:
    """A sentence without what is measured anew each time."""
    return re.sub(r"\d+\.\d+", "N", text)
