"""Properties are tried by one rule: the same examples at each run, random ones on request."""

from __future__ import annotations

import re
from pathlib import Path

from examples import TIMES
from hypothesis import settings

HERE = Path(__file__).parent


def test_nothing_of_a_run_depends_on_another_or_on_the_clock() -> None:
    now = settings()
    assert now.derandomize == (not TIMES)
    assert now.database is None and now.deadline is None


def test_no_test_has_settings_of_its_own() -> None:
    own = re.compile(r"from hypothesis import .*\bsettings\b|hypothesis\.settings")
    files = [path for path in HERE.rglob("*.py") if own.search(path.read_text("utf-8"))]
    assert {path.name for path in files} <= {"examples.py", "test_examples.py"}
