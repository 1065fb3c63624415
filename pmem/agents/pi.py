"""pi, by an extension that is loaded for one session.

Tested with 1.6.0, headless and in its own screen. The extension is named on the command line
(`-e`, which may be given several times); the user's own extensions and settings stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pmem.agents.find import find_program
from pmem.agents.protocol import HookLine, Launch
from pmem.core.event import Answer, Event

if TYPE_CHECKING:
    from pmem.agents.plugin_json import PluginEvents

#: Words that make pi do something else than work on a task here.
SUBCOMMANDS = frozenset(
    {"install", "remove", "uninstall", "update", "list", "config", "auth", "mcp"}
)
QUESTIONS = frozenset({"--version", "-v", "--help", "-h", "--list-models", "--export"})
PLUGIN = Path(__file__).with_name("plugins") / "pi.mjs"


class Pi:
    """The pi coding agent."""

    name = "pi"
    title = "pi"
    binary = "pi"
    tells = True
    can_hold = True
    shows = True

    def find(self, env: Mapping[str, str]) -> Path | None:
        """On PATH, or among global node packages."""
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
        """The same command line with `-e` in front; subcommands pass untouched."""
        before = args[: args.index("--")] if "--" in args else args
        if (args and args[0] in SUBCOMMANDS) or QUESTIONS.intersection(before):
            return Launch([program, *args])
        return Launch([program, "-e", str(PLUGIN), *args])

    def events(self, payload: bytes) -> list[Event]:
        """What the extension told. Raises ValueError if it cannot be read."""
        return self._plugin.events(payload)

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """What the extension is answered."""
        return self._plugin.answer(payload, answer)

    @cached_property
    def _plugin(self) -> PluginEvents:
        from pmem.agents.plugin_json import PluginEvents  # only the session process reads events
        from pmem.agents.tool_calls import Tools

        return PluginEvents(
            Tools(
                commands={"bash", "powershell"},
                edits={"edit", "write"},
                reads={"read", "grep", "find", "ls"},
            )
        )


PI = Pi()
