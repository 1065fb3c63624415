"""GitHub's Copilot CLI, by the hooks of a plug-in that lives for one session.

Tested with 1.0.102, headless and in its own screen. The plug-in is a directory of the session's
own (`--plugin-dir`, which may be given several times): no file of the user's is touched, and their
plug-ins and hooks keep running.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pmem.agents.hooked import Hooked, Reader, does_other_work, options
from pmem.agents.protocol import HookLine, Launch

#: Words that make Copilot CLI do something else than work on a task here.
SUBCOMMANDS = frozenset(
    {
        *("app", "login", "help", "init", "config", "update", "version", "workflow", "sessions"),
        *("memories", "plugin", "mcp", "skill", "instruction", "lsp", "sandbox", "completion"),
    }
)
QUESTIONS = frozenset({"--version", "-v", "--help", "-h"})


class CopilotCli(Hooked):
    """GitHub's Copilot CLI."""

    name = "copilot"
    title = "Copilot CLI"
    binary = "copilot"
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
        """The same command line with `--plugin-dir` behind it; subcommands pass untouched.

        The last plug-in's hooks are asked last, so that the user's own hear of every call.
        """
        if does_other_work(args, SUBCOMMANDS, QUESTIONS):
            return Launch([program, *args])
        before = options(args)
        if any(word == "--connect" or word.startswith("--connect=") for word in before):
            remark = "Copilot CLI works elsewhere (--connect): pmem sees nothing"
            return Launch([program, *args], remark=remark)
        place = run_dir / "copilot"
        write_plugin(place, hook)
        return Launch([program, *before, "--plugin-dir", str(place), *args[len(before) :]])

    def reader(self) -> Reader:
        """Of its hooks."""
        from pmem.agents.copilot_hooks import CopilotHooks

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
