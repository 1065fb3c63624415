"""Capture: what a step keeps of a command's output, its head and its tail."""

from __future__ import annotations

import re

from pmem.core.captured import GAP, HEAD, MARGIN, TAIL

#: What stands for the screen of a full-screen program.
FULL_SCREEN = "[a full-screen program ran here]"

_ALTERNATE = re.compile(rb"\x1b\[\?(?:1049|1047|47)h.*?(?:\x1b\[\?(?:1049|1047|47)l|\Z)", re.DOTALL)
_LEFT_ALTERNATE = re.compile(rb"\A.*\x1b\[\?(?:1049|1047|47)l", re.DOTALL)
#: zsh fills the line with blanks after an end mark before it draws its prompt.
_END_OF_LINE_FILL = re.compile(
    rb"(?:\x1b\[[0-9;]*m)*[^\x1b\r\n ]{0,8}(?:\x1b\[[0-9;]*[mK])* {2,}"
    rb"\r \r(?:\x1b\[[0-9;]*[mJK])*\Z"
)


class Capture:
    """Takes an output as it comes; memory stays bounded however long the command runs."""

    def __init__(self, head: int = HEAD + MARGIN, tail: int = TAIL + MARGIN) -> None:
        self._head_size, self._tail_size = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the output."""
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
            if not chunk:
                return
        if len(chunk) >= self._tail_size:
            self._dropped += len(self._tail) + len(chunk) - self._tail_size
            self._tail[:] = chunk[-self._tail_size :]
            return
        self._tail += chunk
        if len(self._tail) > 2 * self._tail_size:
            self._trim()

    def text(self) -> str:
        """The output as the memory agent reads it: no control sequences, a line where it is cut.

        What was drawn by a full-screen program is replaced by a note.
        """
        from pmem.core.text import clean

        self._trim()
        head, tail = bytes(self._head), _END_OF_LINE_FILL.sub(b"", bytes(self._tail))
        if not self._tail:
            head = _END_OF_LINE_FILL.sub(b"", head)
        if not self._dropped:
            return clean(_decode(_note_screens(head + tail)))
        cut = GAP.format(self._dropped)
        joined = _note_screens(head + cut.encode() + tail)
        return clean(_decode(joined))

    def _trim(self) -> None:
        excess = len(self._tail) - self._tail_size
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess


def _note_screens(output: bytes) -> bytes:
    note = b"\n" + FULL_SCREEN.encode() + b"\n"
    output, count = _ALTERNATE.subn(note, output)
    if b"\x1b[?1049l" in output:
        output = _LEFT_ALTERNATE.sub(b"" if count else note, output)
    return output


def _decode(output: bytes) -> str:
    return output.decode("utf-8", "replace")
