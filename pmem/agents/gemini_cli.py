"""Google's Gemini CLI, by hooks that live for one session.

Tested with 0.61.0, headless and in its own screen. The hooks come with an extension in a home
made for the session (see `gemini_home`); no file of the user's is touched and theirs keep running.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pmem.agents.hooked import Hooked, Reader, does_other_work, options
from pmem.agents.json_object import object_of
from pmem.agents.protocol import HookLine, Launch

#: Words that make Gemini CLI do something else than work on a task.
SUBCOMMANDS = frozenset(
    {"mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "gemma"}
)
QUESTIONS = frozenset(
    {
        *("--version", "-v", "--help", "-h", "--list-extensions", "-l", "--list-sessions"),
        "--delete-session",
    }
)


class GeminiCli(Hooked):
    """Google's Gemini CLI."""

    name = "gemini"
    title = "Gemini CLI"
    binary = "gemini"
    tells = True
    can_hold = True
    shows = True

    def launch(
        self,
        program: str,
        args: Sequence[str],
        hook: HookLine,
        run_dir: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Launch:
        """The same command line in a home that has pmem's hooks; subcommands pass untouched."""
        env = os.environ if env is None else env
        cwd = Path.cwd() if cwd is None else cwd
        if does_other_work(args, SUBCOMMANDS, QUESTIONS):
            return Launch([program, *args])
        home = Path(env.get("GEMINI_CLI_HOME") or env.get("HOME") or "~").expanduser()
        before = options(args)
        off = _switched_off(before, env, cwd, home)
        if off:
            remark = f"Gemini CLI runs no hooks of pmem's here ({off}): pmem sees nothing"
            return Launch([program, *args], remark=remark)
        from pmem.agents import gemini_home
        from pmem.agents.gemini_hooks import EVENTS

        line = {"type": "command", "name": "pmem", "command": hook.command}
        ours: dict[str, Any] = {**line, "timeout": hook.timeout * 1000}
        hooks = {
            event: [{"hooks": [ours], **({"matcher": matcher} if matcher else {})}]
            for event, matcher in EVENTS.items()
        }
        place = run_dir / "home"
        try:
            gemini_home.borrow(home, place, hooks)
        except OSError as trouble:
            remark = f"no home for Gemini CLI's hooks ({trouble.strerror}): pmem sees nothing"
            return Launch([program, *args], remark=remark)
        told = {"GEMINI_CLI_HOME": str(place)}
        if not env.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH"):
            trusted = home / ".gemini" / "trustedFolders.json"
            told["GEMINI_CLI_TRUSTED_FOLDERS_PATH"] = str(trusted)
        extensions = ("-e", gemini_home.EXTENSION) if _names_extensions(before) else ()
        return Launch(
            [program, *extensions, *args], told, after=partial(gemini_home.give_back, home, place)
        )

    def reader(self) -> Reader:
        """Of its hooks."""
        from pmem.agents.gemini_hooks import GeminiHooks

        return GeminiHooks()


def _names_extensions(options: Sequence[str]) -> bool:
    return any(o in ("-e", "--extensions") or o.startswith("--extensions=") for o in options)


def _switched_off(options: Sequence[str], env: Mapping[str, str], cwd: Path, home: Path) -> str:
    """What keeps pmem's hooks from running in this session, in words for the user."""
    if {"-s", "--sandbox"}.intersection(options) or env.get("GEMINI_SANDBOX"):
        return "it works in a sandbox"
    for option, value in zip(options, [*options[1:], ""], strict=False):
        if (option in ("-e", "--extensions") and value == "none") or option == "--extensions=none":
            return "--extensions none"
    if cwd == home:
        return "its settings cannot be told from the project's in the home directory"
    for file in (cwd / ".gemini" / "settings.json", home / ".gemini" / "settings.json"):
        config = object_of(file).get("hooksConfig")
        if isinstance(config, dict) and config.get("enabled") is False:
            return f"hooksConfig.enabled in {file}"
    return ""


GEMINI_CLI = GeminiCli()
