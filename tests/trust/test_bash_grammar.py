"""What made the bash grammar crash or hang is kept from it, and read all the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pmem.core.bash import read
from pmem.core.signature import normal_form

#: A letter outside the table of the grammar's scanner, where it looks one up.
ODD = ["{\U00031860", "{1\U00089ae0", "{1..\U0010ffff}", "echo {..한", "a;{é", "x={0..9\U00031860}"]

MANY = """
import sys
from pmem.core.bash import _read
for n in range(400):
    for line in {lines!r}:
        _read((line + chr(0x20000 + 997 * n % 0xEFFFF)) * 20)
print("alive")
"""


def test_no_letter_after_a_brace_ends_the_process() -> None:
    # Whether a look beyond the table hits a page that is not there is chance: so many, in a child.
    lines = ["{", "{1", "{1..", "a {", "{..9"]
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", MANY.format(lines=lines)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


@pytest.mark.parametrize("line", ODD)
def test_such_a_line_is_read_as_it_stands(line: str) -> None:
    assert line.split("{")[1].strip("}") in normal_form(line)


@pytest.mark.parametrize("unit", ["a=(", "<<E\n", "a|", "case a in b) ", "! ", "${", "[[ "])
def test_a_line_made_to_take_long_is_read_at_once_or_not_at_all(unit: str) -> None:
    assert read(unit * (60_000 // len(unit))).items
