"""A held command waits for Enter or ctrl-C, and no other key is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pmem.terminal.gate import Gate, Question


@pytest.mark.parametrize(
    ("keys", "decision", "kept"),
    [
        ([b"\r"], True, b""),
        ([b"\n"], True, b""),
        ([b"\x03"], False, b"\x03"),
        ([b"ls", b" -l\r", b""], True, b"ls -l\r"),
        ([b"ab\rcd"], True, b"ab\rcd"),
        ([b"No\rcd"], False, b"\x03cd"),
        ([b"ab", b"c\x03d"], False, b"\x03abcd"),
        ([b"abc"], None, b"abc"),
    ],
)
def test_what_is_typed_decides(keys: list[bytes], decision: bool | None, kept: bytes) -> None:
    question = Question("1")
    decided = None
    for part in keys:
        if decided is None:
            decided = question.take(part)
    assert decided is decision
    assert question.kept == kept


def test_answers_reach_whoever_reads_the_fifo(short_dir: Path) -> None:
    path = short_dir / "gate"
    os.mkfifo(path)
    gate = Gate(str(path))
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    gate.hold("7")
    gate.run("7")
    assert os.read(reader, 100) == b"7 hold\n7 run\n"
    gate.close()
    os.close(reader)


def test_what_is_no_fifo_is_no_gate(short_dir: Path) -> None:
    (short_dir / "file").write_text("kept")
    for name in ("file", "missing"):
        gate = Gate(str(short_dir / name))
        assert not gate.stands
        gate.run("1")
    assert (short_dir / "file").read_text() == "kept"
