"""pi, by an extension that is loaded for one session.

Tested with 1.6.0, headless and in its own screen. The extension is named on the command line
(`-e`, which may be given several times); the user's own extensions and settings stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pmem.agents.hooked import Hooked, Reader, does_other_work
from pmem.agents.protocol import HookLine, Launch

#: Words that make pi do something else than work on a task here.
SUBCOMMANDS = frozenset(
    {"install", "remove", "uninstall", "update", "list", "config", "auth", "mcp"}
)
QUESTIONS = frozenset({"--version", "-v", "--help", "-h", "--list-models", "--export"})
PLUGIN = Path(__file__).with_name("plugins") / "pi.mjs"


class Pi(Hooked):
    """The pi coding agent."""

    name = "pi"
    title = "pi"
    binary = "pi"
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
        """The same command line with `-e` in front; subcommands pass untouched."""
        if does_other_work(args, SUBCOMMANDS, QUESTIONS):
            return Launch([program, *args])
        return Launch([program, "-e", str(PLUGIN), *args])

    def reader(self) -> Reader:
        """Of what its extension tells."""
        from pmem.agents.plugin_json import PluginEvents
        from pmem.agents.tool_calls import Tools

        return PluginEvents(
            Tools(
                commands={"bash", "powershell"},
                edits={"edit", "write"},
                reads={"read", "grep", "find", "ls"},
            )
        )


PI = Pi()
