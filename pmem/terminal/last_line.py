"""LastLine: whether the cursor stands at a line's start, told from what was shown last."""

from __future__ import annotations

import re

#: How many of the last bytes are looked at.
_LOOK_BACK = 256

#: What moves no cursor; SI and SO end the attributes where TERM is tmux, screen or linux.
_SEQUENCES = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78])"
    rb"|[\x00\x07\x0e\x0f]"
)


class LastLine:
    """Given all that is `shown`, it knows whether anything visible stands on the last line."""

    def __init__(self) -> None:
        self._tail = b""

    def shown(self, part: bytes) -> None:
        """Take what was shown next."""
        kept = self._tail + part if len(part) < _LOOK_BACK else part
        self._tail = kept[-_LOOK_BACK:]

    @property
    def is_empty(self) -> bool:
        """Whether what is written now begins a line."""
        visible = _SEQUENCES.sub(b"", self._tail)
        return not visible or visible[-1:] in (b"\n", b"\r")
