"""Attachment: the settings of a project through which an agent started without pmem tells it.

Pure: texts in, texts out. What is added are hook lines that can be told by their command, so
that they, and nothing else, can be taken out again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pmem.hook.line import is_attached_command


@dataclass(frozen=True, slots=True)
class Attachment:
    """Where an agent reads a project's settings, and how hooks are added to them.

    `private` and `shared` are paths from the project's root; `private` is the one that is the
    user's own. `add` takes settings and the hook's command; it raises ValueError with a
    sentence where they have another shape than the agent's. `remark` is what the user should
    know after attaching, "" if nothing.
    """

    private: str
    shared: str
    add: Callable[[Mapping[str, Any], str], dict[str, Any]]
    remark: str = ""


def attached(text: str, attachment: Attachment, command: str) -> str:
    """The settings with pmem's hooks, and with those of an earlier pmem taken out.

    Raises ValueError with a sentence if they cannot be read.
    """
    settings, _ = _without(parse(text) if text.strip() else {})
    return dump(attachment.add(settings, command), text)


def detached(text: str) -> str | None:
    """The settings without pmem's hooks, None if there are none in them.

    Raises ValueError with a sentence if they cannot be read.
    """
    settings, found = _without(parse(text))
    return dump(settings, text) if found else None


def parse(text: str) -> dict[str, Any]:
    """A settings file's object. Raises ValueError for what could not be written back whole."""
    try:
        settings = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(settings, dict):
        raise ValueError("it is not a JSON object")
    return settings


def dump(settings: Mapping[str, Any], like: str) -> str:
    """The settings as text, indented and ended as the text they came from."""
    indent = re.search(r"\n([ \t]+)\S", like)
    text = json.dumps(settings, indent=indent[1] if indent else 2, ensure_ascii=False)
    return text if like.strip() and not like.endswith("\n") else text + "\n"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has the key {twice!r} twice")
    return found


def _without(settings: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The settings without our hooks, and whether there were any. What stays empty goes too."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return settings, False
    found = False
    kept: dict[str, Any] = {}
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            kept[event] = groups
            continue
        left = [group for group in groups if not _ours(group)]
        found = found or len(left) < len(groups)
        if left or not groups:
            kept[event] = left
    if not found:
        return settings, False
    rest = {key: value for key, value in settings.items() if key != "hooks" or kept}
    if kept:
        rest["hooks"] = kept
    return rest, True


def _ours(group: Any) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return (
        isinstance(hooks, list)
        and bool(hooks)
        and all(isinstance(h, dict) and is_attached_command(h.get("command")) for h in hooks)
    )


def _claude(settings: Mapping[str, Any], command: str) -> dict[str, Any]:
    from pmem.agents.claude_settings import with_hooks
    from pmem.agents.protocol import HookLine

    return with_hooks(settings, HookLine(command))


def _in_milliseconds(events: Mapping[str, str]) -> Callable[[Mapping[str, Any], str], Any]:
    """Gemini's hooks and their like: named ones, with a limit in milliseconds."""

    def add(settings: Mapping[str, Any], command: str) -> dict[str, Any]:
        hooks = settings.get("hooks", {})
        if not isinstance(hooks, dict) or not all(isinstance(g, list) for g in hooks.values()):
            raise ValueError("'hooks' must map each event to a list; correct it")
        ours = {"type": "command", "name": "pmem", "command": command, "timeout": 10_000}
        merged = dict(hooks)
        for event, matcher in events.items():
            group = {"hooks": [ours], **({"matcher": matcher} if matcher else {})}
            merged[event] = [*hooks.get(event, []), group]
        return {**settings, "hooks": merged}

    return add


def _gemini(settings: Mapping[str, Any], command: str) -> dict[str, Any]:
    from pmem.agents.gemini_hooks import EVENTS

    return dict(_in_milliseconds(EVENTS)(settings, command))


def _qwen(settings: Mapping[str, Any], command: str) -> dict[str, Any]:
    from pmem.agents.qwen_hooks import EVENTS

    return dict(_in_milliseconds(EVENTS)(settings, command))


#: The agents a project can be attached to, by their adapters' names.
ATTACHMENTS = {
    "claude": Attachment(".claude/settings.local.json", ".claude/settings.json", _claude),
    # These have one file for both: it is the user's own as long as git does not keep it.
    "gemini": Attachment(".gemini/settings.json", ".gemini/settings.json", _gemini),
    "qwen": Attachment(".qwen/settings.json", ".qwen/settings.json", _qwen),
}
#: Agents that read a project's hooks and are not attached all the same, and why.
NOT_ATTACHED = {
    "codex": "on its screen it runs hooks in a background process that all its windows share",
}
