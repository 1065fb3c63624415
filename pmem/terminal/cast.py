"""Recording: what the terminal shows, as asciicast v2, with exact timing.

Secrets are looked for line by line, in the output as it is joined from its chunks, so that a token
echoed key by key is found too. It is the same net as elsewhere (`core/redact.py`), no wall.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path

from pmem.terminal.tty import Size

#: The recording in a session's directory.
CAST = "terminal.cast"
#: Of an unfinished line so many characters are kept back for the rest of it, …
MAX_LINE = 2000
#: … and of a longer one its last word, up to so many.
MAX_WORD = 400
#: What is recorded reaches the disk at least so often while something is shown, in seconds.
FLUSH = 1.0

#: Some readers end a line at these too.
_LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
_LAST_WORD = re.compile(r"[^\s\x1b]*\Z")

#: When something was shown, in seconds from the start, and what.
_Piece = tuple[float, str]


class CastRecorder:
    """Writes a recording, as `run_in_pty(recorder=…)`.

    A disk that fails ends it and nothing else; `trouble` says so.
    """

    def __init__(self, path: Path, env: Mapping[str, str], command: Sequence[str] = ()) -> None:
        """Create the file, readable by the user alone. Raises OSError if that cannot be done."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._file: TextIOWrapper | None = os.fdopen(fd, "w", encoding="utf-8", newline="\n")
        self.path = path
        self._env = {name: env[name] for name in ("SHELL", "TERM") if name in env}
        self._command = " ".join(command)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._size: Size | None = None
        self._started = self._flushed = time.monotonic()
        self._line: list[_Piece] = []
        self._length = 0
        self.trouble = ""

    def output(self, data: bytes) -> None:
        """Bytes that the terminal shows now."""
        text = self._decoder.decode(data)
        if not text:
            return
        self._line.append((self._elapsed(), text))
        self._length += len(text)
        if "\n" in text or self._length > MAX_LINE:
            self._say_lines()

    def resize(self, size: Size) -> None:
        """The size at the start, and every later one."""
        if self._size is None:
            self._write(
                {
                    "version": 2,
                    "width": size.columns,
                    "height": size.rows,
                    "timestamp": int(time.time()),
                    "command": _redact(self._command),
                    "env": self._env,
                }
            )
        elif (size.columns, size.rows) != (self._size.columns, self._size.rows):
            self._say(self._line)
            self._line, self._length = [], 0
            self._write([self._elapsed(), "r", f"{size.columns}x{size.rows}"])
        self._size = size

    def close(self) -> None:
        """Write what is kept back and close the file."""
        rest = self._decoder.decode(b"", final=True)
        self._say([*self._line, (self._elapsed(), rest)])
        self._line = []
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self._fail(error)
            self._file = None

    def _say_lines(self) -> None:
        """Write all but the beginning of a line whose rest is still to come."""
        text = "".join(part for _, part in self._line)
        end = text.rfind("\n") + 1
        if len(text) - end > MAX_LINE:
            word = _LAST_WORD.search(text)
            end = word.start() if word and len(word[0]) <= MAX_WORD else len(text)
        said, kept = _split(self._line, end)
        self._say(said)
        self._line, self._length = kept, len(text) - end

    def _say(self, pieces: Sequence[_Piece]) -> None:
        """Write pieces, each at its time; from a secret on, what is left of them at once."""
        clean = _redact("".join(part for _, part in pieces))
        at = 0
        for n, (when, part) in enumerate(pieces, 1):
            if n == len(pieces) or not clean.startswith(part, at):
                part = clean[at:]
            if part:
                self._write([when, "o", part])
            at += len(part)
            if at == len(clean):
                return

    def _elapsed(self) -> float:
        return round(time.monotonic() - self._started, 6)

    def _write(self, value: object) -> None:
        if self._file is None:
            return
        try:
            line = json.dumps(value, ensure_ascii=False).translate(_LINE_ENDS)
            self._file.write(line + "\n")
            if time.monotonic() - self._flushed > FLUSH:
                self._file.flush()
                self._flushed = time.monotonic()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.trouble = f"the recording ended early: {error.strerror or error}"
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()


def _split(pieces: Sequence[_Piece], at: int) -> tuple[list[_Piece], list[_Piece]]:
    """The pieces before and after so many characters."""
    before: list[_Piece] = []
    after: list[_Piece] = []
    for when, part in pieces:
        first, rest = part[: max(at, 0)], part[max(at, 0) :]
        at -= len(part)
        if first:
            before.append((when, first))
        if rest:
            after.append((when, rest))
    return before, after


def _redact(text: str) -> str:
    from pmem.core.redact import redact

    return redact(text)
