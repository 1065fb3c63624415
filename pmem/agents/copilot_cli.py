"""GitHub's Copilot CLI, by the hooks of a plug-in that lives for one session.

Tested with 1.0.102, headless and in its own screen. The plug-in is a directory of the session's
own (`--plugin-dir`, which may be given several times): no file of the user's is touched, and their
plug-ins and hooks keep running.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pmem.agents.find import find_program
from pmem.agents.protocol import HookLine, Launch
from pmem.core.event import Answer, Event

if TYPE_CHECKING:
    from pmem.agents.copilot_hooks import CopilotHooks

#: Words that make Copilot CLI do something else than work on a task here.
SUBCOMMANDS = frozenset(
    {
        *("app", "login", "help", "init", "config", "update", "version", "workflow", "sessions"),
        *("memories", "plugin", "mcp", "skill", "instruction", "lsp", "sandbox", "completion"),
    }
)
QUESTIONS = frozenset({"--version", "-v", "--help", "-h"})


class CopilotCli:
    """GitHub's Copilot CLI."""

    name = "copilot"
    title = "Copilot CLI"
    binary = "copilot"
    tells = True
    can_hold = True
    shows = False

    def find(self, env: Mapping[str, str]) -> Path | None:
        """On PATH, or among global node packages and Homebrew's programs."""
        return find_program(self.binary, env)

    def launch(
        self,
        program: str,
        args: Sequence[str],
        hook: HookLine,
        run_dir: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Launch:
        """The same command line with `--plugin-dir` behind it; subcommands pass untouched.

        The last plug-in's hooks are asked last, so that the user's own hear of every call.
        """
        before = args[: args.index("--")] if "--" in args else args
        if (args and args[0] in SUBCOMMANDS) or QUESTIONS.intersection(before):
            return Launch([program, *args])
        if any(word == "--connect" or word.startswith("--connect=") for word in before):
            remark = "Copilot CLI works elsewhere (--connect): pmem sees nothing"
            return Launch([program, *args], remark=remark)
        place = run_dir / "copilot"
        write_plugin(place, hook)
        return Launch([program, *before, "--plugin-dir", str(place), *args[len(before) :]])

    def events(self, payload: bytes) -> list[Event]:
        """What one hook told. Raises ValueError if it cannot be read."""
        return self._hooks.events(payload)

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """The hook's stdout."""
        return self._hooks.answer(payload, answer)

    @cached_property
    def _hooks(self) -> CopilotHooks:
        from pmem.agents.copilot_hooks import CopilotHooks  # only the session process reads hooks

        return CopilotHooks()


def write_plugin(place: Path, hook: HookLine) -> None:
    """Make `place` a plug-in whose hooks tell each event with its payload."""
    from pmem.agents.copilot_hooks import EVENTS

    hooks = {
        event: [
            {
                "type": "command",
                "bash": hook_line(event, hook),
                "timeoutSec": hook.timeout,
            }
        ]
        for event in EVENTS
    }
    manifest = {"name": "pmem", "version": "1.0.0", "hooks": "hooks.json"}
    place.mkdir()
    (place / "plugin.json").write_text(json.dumps(manifest), "utf-8")
    (place / "hooks.json").write_text(json.dumps({"version": 1, "hooks": hooks}), "utf-8")


def hook_line(event: str, hook: HookLine) -> str:
    """The shell line that tells one event, its name and its payload in one JSON object."""
    return f"""{{ printf '{{"event":"{event}","payload":'; cat; printf '}}'; }} | {hook.command}"""


COPILOT_CLI = CopilotCli()
