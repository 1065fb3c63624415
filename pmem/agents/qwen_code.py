"""Qwen Code, by hooks that live for one session.

Tested with 0.24.4, headless and in its own screen. The hooks stand in a settings file of the
session's own that takes the place of the machine's (`QWEN_CODE_SYSTEM_SETTINGS_PATH`) and holds
what that one says; the user's and the project's settings stay in force beside it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmem.agents.hooked import Hooked, Reader, does_other_work, options
from pmem.agents.json_object import object_of
from pmem.agents.protocol import HookLine, Launch

#: Words that make Qwen Code do something else than work on a task here.
SUBCOMMANDS = frozenset(
    {
        *("auth", "board", "channel", "extensions", "hooks", "mcp", "review", "sandbox"),
        *("serve", "sessions", "update"),
    }
)
QUESTIONS = frozenset({"--version", "-v", "--help", "-h", "--list-extensions", "-l"})
#: The variable that names the machine's settings file, and where that lies without it.
VARIABLE = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
PLACES = {"darwin": "/Library/Application Support/QwenCode/settings.json"}
PLACE = "/etc/qwen-code/settings.json"


class QwenCode(Hooked):
    """Alibaba's Qwen Code."""

    name = "qwen"
    title = "Qwen Code"
    binary = "qwen"
    tells = True
    can_hold = True
    shows = False

    def launch(
        self,
        program: str,
        args: Sequence[str],
        hook: HookLine,
        run_dir: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Launch:
        """The same command line with a settings file of the session's; subcommands untouched.

        Raises ValueError if the machine's own settings cannot be read, since they may restrict
        what the agent is allowed.
        """
        env = os.environ if env is None else env
        cwd = Path.cwd() if cwd is None else cwd
        if does_other_work(args, SUBCOMMANDS, QUESTIONS):
            return Launch([program, *args])
        machine = Path(env.get(VARIABLE) or PLACES.get(sys.platform, PLACE))
        settings = with_hooks(_machine_settings(machine), hook)
        off = hooks_switched_off(settings, options(args), env, cwd)
        if off:
            remark = f"Qwen Code runs no hooks of pmem's here ({off}): pmem sees nothing"
            return Launch([program, *args], remark=remark)
        file = run_dir / "qwen-settings.json"
        file.write_text(json.dumps(settings, ensure_ascii=False), "utf-8", "replace")
        return Launch([program, *args], {VARIABLE: str(file)})

    def reader(self) -> Reader:
        """Of its hooks."""
        from pmem.agents.qwen_hooks import QwenHooks

        return QwenHooks()


def with_hooks(settings: Mapping[str, Any], hook: HookLine) -> dict[str, Any]:
    """The machine's settings with pmem's hooks behind theirs.

    Raises ValueError with a sentence for the user if `hooks` has another shape than Qwen Code's.
    """
    from pmem.agents.qwen_hooks import EVENTS

    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(g, list) for g in hooks.values()):
        raise ValueError("'hooks' in the machine's Qwen Code settings is no table of lists")
    merged = dict(hooks)
    for event, matcher in EVENTS.items():
        line = {"type": "command", "name": "pmem", "command": hook.command}
        ours: dict[str, Any] = {"hooks": [{**line, "timeout": hook.timeout * 1000}]}
        merged[event] = [
            *hooks.get(event, []),
            {**ours, **({"matcher": matcher} if matcher else {})},
        ]
    return {**settings, "hooks": merged}


def hooks_switched_off(
    machine: Mapping[str, Any], options: Sequence[str], env: Mapping[str, str], cwd: Path
) -> str:
    """What keeps hooks from running in this session, in words for the user; "" if nothing does.

    The strongest place that says anything decides: the machine's, the project's, the user's.
    """
    for option, variable in (
        ("--bare", "QWEN_CODE_SIMPLE"),
        ("--safe-mode", "QWEN_CODE_SAFE_MODE"),
    ):
        if option in options:
            return option
        if env.get(variable, "").lower() in ("1", "true"):
            return variable
    if {"-s", "--sandbox"}.intersection(options) or env.get("QWEN_SANDBOX"):
        return "it works in a sandbox"
    home = Path(env.get("QWEN_HOME") or Path(env.get("HOME", "")) / ".qwen")
    files = (cwd / ".qwen" / "settings.json", home / "settings.json")
    for settings, place in ((machine, VARIABLE), *((object_of(file), str(file)) for file in files)):
        said = settings.get("disableAllHooks")
        if isinstance(said, bool):
            return f"disableAllHooks in {place}" if said else ""
    return ""


def _machine_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as trouble:
        raise ValueError(f"the machine's settings {path} cannot be read: {trouble}") from None
    if not isinstance(settings, dict):
        raise ValueError(f"the machine's settings {path} are no JSON object")
    return settings


QWEN_CODE = QwenCode()
