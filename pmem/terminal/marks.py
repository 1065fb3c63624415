"""Marks: what a shell tells pmem inside its own output, and how they are taken out again.

A mark is `ESC ] 6973 ; NONCE ; PID ; KIND ; FIELD ; … BEL`, fields percent-escaped. The nonce
is known only to this session's shell, so output cannot forge a mark. Whatever does not carry
it, foreign OSC 133 and 633 included, passes untouched.

| kind | fields | said |
|---|---|---|
| I | gate | the integration is in place; the shell waits at this fifo before a command |
| C | number, cwd, command | a command was entered; its output starts here |
| P | number, cwd | the same for a command that the shell keeps out of its history |
| R | number | the shell waited at the gate in vain, and runs the command |
| D | exit code, cwd, pipe status | the command ended |
| A | | the prompt comes next |

`number` counts the shell's commands; the gate's answers name it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_INTRODUCER = b"\x1b]6973;"
_END = b"\x07"
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
#: A mark without an end after so many bytes is none.
MAX_MARK = 256 << 10


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark: who said it, which kind, and its unescaped fields."""

    pid: str
    kind: str
    fields: tuple[str, ...] = ()

    def field(self, index: int) -> str:
        """A field, "" if it is not there."""
        return self.fields[index] if index < len(self.fields) else ""


class MarkParser:
    """Splits a stream into output and marks, the same however it was cut into chunks.

    At the end of a chunk at most the beginning of a mark is held back.
    """

    def __init__(self, nonce: str) -> None:
        self._start = _INTRODUCER + nonce.encode("ascii") + b";"
        self._held = b""

    @property
    def between_marks(self) -> bool:
        """Whether nothing is held back."""
        return not self._held

    def feed(self, chunk: bytes) -> list[bytes | Mark]:
        """The pieces of this chunk in order; never an empty one."""
        if not self._held and b"\x1b" not in chunk:
            return [chunk] if chunk else []
        start = self._start
        data = self._held + chunk
        self._held = b""
        pieces: list[bytes | Mark] = []
        at = 0
        while True:
            found = data.find(start, at)
            if found < 0:
                keep = _unfinished(data, start, at)
                if keep:
                    self._held = data[len(data) - keep :]
                if at < len(data) - keep:
                    pieces.append(data[at : len(data) - keep] if at or keep else data)
                return pieces
            body = found + len(start)
            end = data.find(_END, body, body + MAX_MARK)
            if end < 0:
                if len(data) - body >= MAX_MARK:
                    pieces.append(data[at:body])
                    at = body
                    continue
                if found > at:
                    pieces.append(data[at:found])
                self._held = data[found:]
                return pieces
            if found > at:
                pieces.append(data[at:found])
            mark = _read(data[body:end])
            if mark is not None:
                pieces.append(mark)
            at = end + 1

    def rest(self) -> bytes:
        """What is held back, given up because the stream ended."""
        held, self._held = self._held, b""
        return held


def _unfinished(data: bytes, start: bytes, at: int) -> int:
    """How many bytes at the end of `data[at:]` are a proper beginning of `start`."""
    escape = data.rfind(b"\x1b", max(at, len(data) - len(start) + 1))
    if escape >= 0 and start.startswith(data[escape:]):
        return len(data) - escape
    return 0


def _read(body: bytes) -> Mark | None:
    parts = body.split(b";")
    if len(parts) < 2:
        return None
    pid, kind, *fields = (unescape(part) for part in parts)
    return Mark(pid, kind, tuple(fields))


def unescape(text: bytes) -> str:
    """Percent-escapes resolved; what is no escape stays as it is, bytes beyond UTF-8 survive."""
    raw = _ESCAPE.sub(lambda m: bytes.fromhex(m[1].decode("ascii")), text) if b"%" in text else text
    return raw.decode("utf-8", "surrogateescape")
