"""The picker of plain `pmem`, in a real terminal."""

from __future__ import annotations

import os
import sys

import pexpect
import pytest

SCRIPT = """
from pmem.cli.picker import pick
choice = pick("Start which one?", [("a", "Claude Code"), ("b", "Codex 코덱스"), ("", "your shell")])
print("chosen:", repr(choice))
"""

UP, DOWN, ENTER, ESCAPE, CTRL_C = "\x1b[A", "\x1b[B", "\r", "\x1b", "\x03"


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ([ENTER], "'a'"),
        ([DOWN, ENTER], "'b'"),
        ([UP, ENTER], "''"),
        ([DOWN, DOWN, DOWN, ENTER], "'a'"),
        (["j", "k", "j", ENTER], "'b'"),
        (["3"], "''"),
        (["q"], "None"),
        ([ESCAPE], "None"),
        ([CTRL_C], "None"),
    ],
)
def test_a_line_is_chosen_by_keys(keys: list[str], chosen: str) -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-c", SCRIPT],
        env={**os.environ, "PROMPT_TOOLKIT_NO_CPR": "1"},
        encoding="utf-8",
        timeout=20,
    )
    child.expect_exact("Esc leave")
    for key in keys:
        child.send(key)
    child.expect_exact(f"chosen: {chosen}")
    child.close()
