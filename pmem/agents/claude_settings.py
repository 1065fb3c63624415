"""Session-only settings for Claude Code: pmem's hooks merged behind the user's own.

Of two `--settings` Claude Code takes only the last, so the user's is read and carried along.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmem.agents.claude_hooks import EVENTS
from pmem.agents.hooked import options
from pmem.agents.json_object import object_of
from pmem.agents.protocol import HookLine

OPTION = "--settings"


def take_settings(args: Sequence[str]) -> tuple[list[str], str | None]:
    """The arguments without any `--settings`, and the value of the last one, None without one.

    What stands behind `--` is left alone.
    """
    rest: list[str] = []
    value = None
    words = iter(args)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == OPTION:
            value = next(words, None)
            if value is None:
                raise ValueError(f"{OPTION} needs a file or a JSON object behind it")
        elif word.startswith(OPTION + "="):
            value = word.removeprefix(OPTION + "=")
        else:
            rest.append(word)
    return rest, value


def read_settings(value: str, cwd: Path) -> dict[str, Any]:
    """The settings a user passed: a JSON object, or the path of a file with one.

    Raises ValueError with a sentence for the user.
    """
    inline = value.strip().startswith("{")
    where = "the JSON behind --settings" if inline else f"--settings {value}"
    try:
        text = value if inline else (cwd / Path(value).expanduser()).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as trouble:
        why = trouble.strerror if isinstance(trouble, OSError) else "it is not UTF-8 text"
        raise ValueError(f"{where} cannot be read: {why}; correct it, or leave it out") from None
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as trouble:
        raise ValueError(f"{where} is no valid JSON: {trouble}; correct it and try again") from None
    if not isinstance(settings, dict):
        raise ValueError(f"{where} must be a JSON object; correct it and try again")
    return settings


def with_hooks(
    settings: Mapping[str, Any], hook: HookLine, where: str = "'hooks'"
) -> dict[str, Any]:
    """The settings with pmem's hooks behind the user's, everything else as it was.

    Raises ValueError with a sentence for the user if `hooks` has another shape than Claude's;
    `where` names it.
    """
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(g, list) for g in hooks.values()):
        raise ValueError(f"{where} must map each event to a list; correct it")
    merged = dict(hooks)
    for event, matcher in EVENTS.items():
        ours: dict[str, Any] = {
            "hooks": [{"type": "command", "command": hook.command, "timeout": hook.timeout}]
        }
        if matcher:
            ours["matcher"] = matcher
        merged[event] = [*hooks.get(event, []), ours]
    return {**settings, "hooks": merged}


def hooks_switched_off(
    given: Mapping[str, Any], args: Sequence[str], env: Mapping[str, str], cwd: Path
) -> str:
    """What keeps hooks from running in this session, in words for the user; "" if nothing does.

    `given` are the settings the user passed. The strongest place that says anything decides:
    those, then the project's local, the project's and the user's own file.
    """
    for option, variable in (
        ("--bare", "CLAUDE_CODE_SIMPLE"),
        ("--safe-mode", "CLAUDE_CODE_SAFE_MODE"),
    ):
        if option in options(args):
            return option
        if env.get(variable, "").lower() in ("1", "true", "yes", "on"):
            return variable
    home = Path(env.get("CLAUDE_CONFIG_DIR") or Path(env.get("HOME", "")) / ".claude")
    files = (
        cwd / ".claude" / "settings.local.json",
        cwd / ".claude" / "settings.json",
        home / "settings.json",
    )
    for settings, place in ((given, OPTION), *((object_of(file), str(file)) for file in files)):
        said = settings.get("disableAllHooks")
        if isinstance(said, bool):
            return f"disableAllHooks in {place}" if said else ""
    return ""
