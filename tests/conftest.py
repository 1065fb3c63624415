"""What every test gets: a HOME and XDG directories of its own, and no pmem variables."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import examples  # noqa: F401 # which examples of a property are tried, for all rooms
import pytest

# A run in the background is begun with Ctrl-C ignored, and its children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME; nothing a test does reaches the user's own files."""
    home = tmp_path / "home"
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("PMEM", "XDG_", "CLAUDE", "ANTHROPIC", "OPENAI", "GEMINI", "CODEX")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TERM", "xterm-256color")
    return home


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A directory with a path short enough for a unix socket (104 bytes on macOS)."""
    path = Path(tempfile.mkdtemp(prefix="pm-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)
