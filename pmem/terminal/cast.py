"""Recording: what the terminal shows, as asciicast v2, with exact timing and without secrets."""

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

#: A word that is still being written is kept back for the rest of it, up to so many characters.
MAX_WORD = 400
#: Only in a burst: of a chunk shorter than this the last word counts as whole.
BURST = 256
#: What is recorded reaches the disk at least so often while something is shown, in seconds.
FLUSH = 1.0

#: Some readers end a line at these too.
_LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
_LAST_WORD = re.compile(r"[^\s\x1b]*\Z")


class CastRecorder:
    """Writes a recording, as `run_in_pty(recorder=…)`.

    A disk that fails ends it and nothing else; `trouble` says so.
    """

    def __init__(self, path: Path, env: Mapping[str, str], command: Sequence[str] = ()) -> None:
        """Create the file, readable by the user alone. Raises OSError if that cannot be done."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._file: TextIOWrapper | None = os.fdopen(fd, "w", encoding="utf-8", newline="\n")
        self._env = {name: env[name] for name in ("SHELL", "TERM") if name in env}
        self._command = " ".join(command)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._size: Size | None = None
        self._started = self._flushed = time.monotonic()
        self._word = ""
        self.trouble = ""

    def output(self, data: bytes) -> None:
        """Bytes that the terminal shows now."""
        text = self._word + self._decoder.decode(data)
        self._word = ""
        if len(data) >= BURST:
            word = _LAST_WORD.search(text)
            if word is not None and 0 < len(word[0]) <= MAX_WORD:
                text, self._word = text[: word.start()], word[0]
        self._say("o", text)

    def resize(self, size: Size) -> None:
        """The size at the start, and every later one."""
        if self._size is None:
            self._write_line(
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
            self._say("r", f"{size.columns}x{size.rows}")
        self._size = size

    def close(self) -> None:
        """Write what is kept back and close the file."""
        self._say("o", self._word + self._decoder.decode(b"", final=True))
        self._word = ""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _say(self, kind: str, text: str) -> None:
        if kind == "r" and self._word:
            word, self._word = self._word, ""
            self._say("o", word)
        if text:
            elapsed = round(time.monotonic() - self._started, 6)
            self._write_line([elapsed, kind, _redact(text)])

    def _write_line(self, value: object) -> None:
        if self._file is None:
            return
        try:
            line = json.dumps(value, ensure_ascii=False).translate(_LINE_ENDS)
            self._file.write(line + "\n")
            if time.monotonic() - self._flushed > FLUSH:
                self._file.flush()
                self._flushed = time.monotonic()
        except OSError as error:
            self.trouble = f"the recording ended early: {error.strerror or error}"
            file, self._file = self._file, None
            with contextlib.suppress(OSError):
                file.close()


def _redact(text: str) -> str:
    from pmem.core.redact import redact

    return redact(text)
