"""Many sessions on one bank: every step of every one is in a log and in the bank or its archive."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LOAD = Path(__file__).parents[2] / "benchmarks" / "load.py"


def test_four_sessions_on_one_bank_lose_nothing_and_a_long_one_neither() -> None:
    done = subprocess.run(
        [sys.executable, str(LOAD), "--sessions", "4", "--steps", "60", "--week", "400", "--json"],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    many, long = told["together"], told["week"]
    assert many["steps"] == many["acknowledged"] == many["in_logs"] == 240
    assert many["attempts_in_bank_and_archive"] == 240
    assert many["not_saved"] == []
    assert long["acknowledged"] == long["in_logs"] == 400
