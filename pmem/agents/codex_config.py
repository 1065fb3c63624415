"""Session-only configuration for Codex: pmem's hooks in `-c`, behind the user's own.

Codex runs a hook only once its user has reviewed it, and keeps the review as a hash of the hook.
pmem tells the hash of its own hook for this run alone (`hooks.state`), so that no other hook is
trusted with it. A later `-c hooks.EVENT` replaces an earlier one, so the user's are merged.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmem.agents.codex_hooks import EVENTS
from pmem.agents.hooked import options
from pmem.agents.protocol import HookLine

#: Where Codex says that hooks of the command line come from.
SOURCE = "/<session-flags>/config.toml"
STATE = "state"
#: The longest limit Codex allows a hook of an interrupted turn, in seconds.
MAX_INTERRUPT = 3


def take_hooks(args: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """The arguments without any `-c hooks…`, and the hooks those configure, as one table.

    What stands behind `--` is left alone. Raises ValueError with a sentence for the user.
    """
    rest: list[str] = []
    hooks: dict[str, Any] = {}
    words = iter(args)
    for word in words:
        if word == "--":
            rest += [word, *words]
            break
        own, setting = [word], None
        if word in ("-c", "--config"):
            setting = next(words, None)
            own += [] if setting is None else [setting]
        elif word.startswith("--config="):
            setting = word.removeprefix("--config=")
        elif word.startswith("-c") and not word.startswith("--"):
            setting = word[2:].removeprefix("=")
        name = setting.partition("=")[0].strip() if setting is not None else ""
        if setting is None or not (name == "hooks" or re.fullmatch(r"hooks\.\w+", name)):
            rest += own
        elif name == "hooks":
            hooks = dict(_table(setting, name))
        else:
            hooks[name.removeprefix("hooks.")] = _value(setting, name)
    return rest, hooks


def with_hooks(hooks: Mapping[str, Any], hook: HookLine) -> list[str]:
    """The `-c` arguments that configure the user's hooks, pmem's behind them, and trust in pmem's.

    Raises ValueError with a sentence for the user if theirs have another shape than Codex's.
    """
    merged = {name: value for name, value in hooks.items() if name != STATE}
    state = hooks.get(STATE, {})
    if not isinstance(state, dict):
        raise ValueError("'hooks.state' on your command line must be a table; correct it")
    trusted = dict(state)
    for event, matcher in EVENTS.items():
        theirs = merged.get(event, [])
        if not isinstance(theirs, list):
            raise ValueError(f"'hooks.{event}' on your command line must be a list; correct it")
        ours = {"type": "command", "command": hook.command, "timeout": timeout(event, hook)}
        group = {"hooks": [ours], **({"matcher": matcher} if matcher else {})}
        merged[event] = [*theirs, group]
        trusted[f"{SOURCE}:{snake(event)}:{len(theirs)}:0"] = {
            "trusted_hash": trusted_hash(event, matcher, hook)
        }
    settings = {f"hooks.{name}": value for name, value in merged.items()}
    settings[f"hooks.{STATE}"] = trusted
    return [word for key, value in settings.items() for word in ("-c", f"{key}={inline(value)}")]


def trusted_hash(event: str, matcher: str, hook: HookLine) -> str:
    """The hash by which Codex knows a hook that its user has reviewed."""
    ours = {"type": "command", "command": hook.command, "timeout": timeout(event, hook)}
    known: dict[str, Any] = {"event_name": snake(event), "hooks": [{**ours, "async": False}]}
    if matcher:
        known["matcher"] = matcher
    text = json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def timeout(event: str, hook: HookLine) -> int:
    """The hook's limit in seconds, within what Codex allows: it complains of a longer one."""
    return min(hook.timeout, MAX_INTERRUPT) if event == "Interrupt" else hook.timeout


def snake(event: str) -> str:
    """An event's name as Codex writes it in keys.

    >>> snake("PreToolUse")
    'pre_tool_use'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def inline(value: Any) -> str:
    """A value as TOML on one line. Raises ValueError for one that a hook never holds."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list():
            return f"[{','.join(map(inline, value))}]"
        case dict():
            pairs = (f"{inline(str(key))}={inline(one)}" for key, one in value.items())
            return f"{{{','.join(pairs)}}}"
    raise ValueError(f"a hook on your command line holds {value!r}, which no hook takes")


def hooks_switched_off(args: Sequence[str], env: Mapping[str, str]) -> str:
    """What keeps hooks from running in this session, in words for the user; "" if nothing does."""
    before = list(options(args))
    for word, following in zip(before, [*before[1:], ""], strict=False):
        if word == "--remote" or word.startswith("--remote="):
            return "--remote: it works elsewhere"
        if (word, following) == ("--disable", "hooks") or word == "--disable=hooks":
            return "--disable hooks"
        setting = following if word in ("-c", "--config") else word.removeprefix("--config=")
        if re.fullmatch(r"features\.hooks\s*=\s*false", setting.strip()):
            return "features.hooks=false"
    file = Path(env.get("CODEX_HOME") or Path(env.get("HOME", "")) / ".codex") / "config.toml"
    try:
        features = tomllib.loads(file.read_text("utf-8")).get("features", {})
    except (OSError, ValueError):
        return ""
    off = isinstance(features, dict) and features.get("hooks") is False
    return f"features.hooks in {file}" if off else ""


def _value(setting: str, name: str) -> Any:
    try:
        return tomllib.loads("value = " + setting.partition("=")[2])["value"]
    except tomllib.TOMLDecodeError as trouble:
        raise ValueError(f"your -c {name}=… is no valid TOML: {trouble}; correct it") from None


def _table(setting: str, name: str) -> dict[str, Any]:
    value = _value(setting, name)
    if not isinstance(value, dict):
        raise ValueError(f"your -c {name}=… must be a table; correct it")
    return value
