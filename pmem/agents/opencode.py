"""opencode, by a plug-in that is loaded for one session.

Tested with 1.18.33, `opencode run` and its own screen. The plug-in is named in the configuration
that travels in the environment (`OPENCODE_CONFIG_CONTENT`), which opencode merges with the user's
own: their plug-ins and settings stay.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmem.agents.hooked import Hooked, Reader, does_other_work, options
from pmem.agents.protocol import HookLine, Launch

#: Words that make opencode do something else than work on a task here.
SUBCOMMANDS = frozenset(
    {
        *("completion", "acp", "mcp", "attach", "debug", "providers", "auth", "agent", "upgrade"),
        *("uninstall", "serve", "web", "models", "stats", "export", "import", "github", "session"),
        *("plugin", "plug", "db"),
    }
)
QUESTIONS = frozenset({"--version", "-v", "--help", "-h"})
VARIABLE = "OPENCODE_CONFIG_CONTENT"
PLUGIN = Path(__file__).with_name("plugins") / "opencode.mjs"


class Opencode(Hooked):
    """SST's opencode."""

    name = "opencode"
    title = "opencode"
    binary = "opencode"
    places = ("~/.opencode/bin",)
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
        """The same command line, the plug-in named in the environment; subcommands untouched.

        Raises ValueError if the user's own `OPENCODE_CONFIG_CONTENT` cannot be read.
        """
        env = os.environ if env is None else env
        if does_other_work(args, SUBCOMMANDS, QUESTIONS):
            return Launch([program, *args])
        off = _switched_off(options(args), env)
        if off:
            remark = f"opencode loads no plug-ins here ({off}): pmem sees nothing"
            return Launch([program, *args], remark=remark)
        config = with_plugin(env.get(VARIABLE, ""), PLUGIN.as_uri())
        return Launch([program, *args], {VARIABLE: json.dumps(config, ensure_ascii=False)})

    def reader(self) -> Reader:
        """Of what its plug-in tells."""
        from pmem.agents.plugin_json import PluginEvents
        from pmem.agents.tool_calls import Tools

        return PluginEvents(
            Tools(
                commands={"bash"},
                edits={"edit", "write", "patch", "apply_patch", "multiedit"},
                reads={"read", "glob", "grep", "list", "webfetch", "websearch", "codesearch"},
                directory="workdir",
            )
        )


def with_plugin(given: str, plugin: str) -> dict[str, Any]:
    """The user's configuration of that variable ("" for none) with one plug-in more.

    Raises ValueError with a sentence for the user.
    """
    try:
        config = json.loads(given) if given.strip() else {}
    except (ValueError, RecursionError) as trouble:
        raise ValueError(f"your {VARIABLE} is no plain JSON: {trouble}; correct it") from None
    plugins = config.get("plugin", []) if isinstance(config, dict) else None
    if not isinstance(plugins, list):
        raise ValueError(f"'plugin' in your {VARIABLE} must be a list in an object; correct it")
    return {**config, "plugin": [*plugins, plugin]}


def _switched_off(options: Sequence[str], env: Mapping[str, str]) -> str:
    if "--pure" in options:
        return "--pure"
    if any(o == "--attach" or o.startswith("--attach=") for o in options):
        return "--attach: it works elsewhere"
    return "OPENCODE_PURE" if env.get("OPENCODE_PURE", "").lower() in ("1", "true") else ""


OPENCODE = Opencode()
