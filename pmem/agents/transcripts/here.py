"""Where Claude Code, Codex, Gemini CLI and aider keep the past runs of one directory."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

#: Codex names no directory in its paths: the head of so many of the newest rollouts is read.
MAX_ROLLOUTS = 500
#: A rollout's first line holds the instructions too (bytes).
HEAD = 256 * 1024


def find(cwd: Path, env: Mapping[str, str]) -> list[Path]:
    """The transcripts of runs in this directory, each agent's in turn. Nothing is changed."""
    home = Path(env.get("HOME") or "/nonexistent")
    claude = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(env.get("CODEX_HOME") or home / ".codex")
    return [
        *_claude(cwd, claude / "projects"),
        *_codex(cwd, codex / "sessions"),
        *_gemini(cwd, home / ".gemini" / "tmp"),
        *(path for path in (cwd / ".aider.chat.history.md",) if path.is_file()),
    ]


def any_at_a_glance(cwd: Path, env: Mapping[str, str]) -> bool:
    """Whether there is a past run of Claude Code or aider here: what one look can tell."""
    home = Path(env.get("HOME") or "/nonexistent")
    projects = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
    return bool(_claude(cwd, projects)) or (cwd / ".aider.chat.history.md").is_file()


def _claude(cwd: Path, projects: Path) -> list[Path]:
    name = re.sub(r"[^A-Za-z0-9]", "-", os.fspath(cwd))
    return sorted((projects / name).glob("*.jsonl"))


def _codex(cwd: Path, sessions: Path) -> Iterator[Path]:
    rollouts = sorted(sessions.glob("*/*/*/rollout-*.jsonl"))[-MAX_ROLLOUTS:]
    told = json.dumps(os.fspath(cwd), ensure_ascii=False)
    for path in rollouts:
        try:
            with path.open("rb") as file:
                head = file.readline(HEAD).decode("utf-8", "replace")
        except OSError:
            continue
        if re.search(rf'"cwd":\s*{re.escape(told)}', head):
            yield path


def _gemini(cwd: Path, places: Path) -> Iterator[Path]:
    """Chats name the directory by the SHA-256 of its path."""
    hash = sha256(os.fsencode(cwd)).hexdigest()
    for path in sorted(places.glob("*/chats/session-*.json*")):
        try:
            with path.open("rb") as file:
                head = file.read(4096).decode("utf-8", "replace")
        except OSError:
            continue
        if hash in head or path.parent.parent.name == hash:
            yield path
