"""Modes: what a program switched on at the terminal, so that it can be switched off for it."""

from __future__ import annotations

import re

#: Private modes that spoil a shell if they are left on, with what switches them off.
_SWITCHES = {
    "47": b"\x1b[?47l",
    "1047": b"\x1b[?1047l",
    "1049": b"\x1b[?1049l",
    "1": b"\x1b[?1l",
    "9": b"\x1b[?9l",
    "1000": b"\x1b[?1000l",
    "1001": b"\x1b[?1001l",
    "1002": b"\x1b[?1002l",
    "1003": b"\x1b[?1003l",
    "1004": b"\x1b[?1004l",
    "1005": b"\x1b[?1005l",
    "1006": b"\x1b[?1006l",
    "1015": b"\x1b[?1015l",
    "1016": b"\x1b[?1016l",
    "2004": b"\x1b[?2004l",
    "2026": b"\x1b[?2026l",
    "2031": b"\x1b[?2031l",
}
_ALTERNATE = frozenset({"47", "1047", "1049"})
#: The cursor is the one that is off when a program leaves it wrong.
_CURSOR = "25"

_STARTS = (b"\x1b[?", b"\x1b[>", b"\x1b[<")
_SEQUENCE = re.compile(rb"\x1b\[(?:\?([0-9;]+)([hl])|([<>])([0-9;]*)u)")
_UNFINISHED = re.compile(rb"\x1b(?:\[(?:[?<>][0-9;]*)?)?\Z")
_LONGEST = 40


class Modes:
    """Follows the modes through a stream of output, whatever its chunks."""

    def __init__(self) -> None:
        self._on: set[str] = set()
        self._keyboard = 0
        self._held = b""

    @property
    def full_screen(self) -> bool:
        """Whether a program has the alternate screen."""
        return bool(self._on & _ALTERNATE)

    def feed(self, chunk: bytes) -> None:
        """Look at the next bytes."""
        if b"\x1b" not in chunk and not self._held:
            return
        data = self._held + chunk
        if any(start in data for start in _STARTS):
            for numbers, letter, keyboard, _flags in _SEQUENCE.findall(data):
                if keyboard:
                    self._keyboard = max(0, self._keyboard + (1 if keyboard == b">" else -1))
                else:
                    self._switch(numbers.decode("ascii").split(";"), on=letter == b"h")
        escape = data.rfind(b"\x1b", max(0, len(data) - _LONGEST))
        unfinished = escape >= 0 and _UNFINISHED.match(data, escape)
        self._held = data[escape:] if unfinished else b""

    def switch_off(self) -> bytes:
        """What puts the terminal back where a shell expects it; b"" if nothing was left on."""
        out = b"\x1b[<u" * min(self._keyboard, 16)
        out += b"".join(_SWITCHES[mode] for mode in sorted(self._on & _SWITCHES.keys()))
        if _CURSOR in self._on:
            out += b"\x1b[?25h"
        self._on.clear()
        self._keyboard = 0
        return out

    def _switch(self, modes: list[str], on: bool) -> None:
        for mode in modes:
            wrong = not on if mode == _CURSOR else on
            if mode in _SWITCHES or mode == _CURSOR:
                (self._on.add if wrong else self._on.discard)(mode)
