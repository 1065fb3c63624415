"""Claude Code, by hooks that live for one session.

Tested with 2.1.332, headless and in its own screen. The hooks travel on the command line
(`--settings JSON`), so no file of the user's is touched and theirs keep running.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pmem.agents.hooked import Hooked, Reader, does_other_work
from pmem.agents.protocol import HookLine, Launch

#: Words that make Claude Code do something else than work on a task.
SUBCOMMANDS = frozenset(
    {
        *("agents", "attach", "auth", "auto-mode", "doctor", "gateway", "import", "install"),
        *("kill", "logs", "mcp", "plugin", "plugins", "purge", "respawn", "rm", "setup-token"),
        *("stop", "ultrareview", "update", "upgrade"),
    }
)
QUESTIONS = frozenset({"--version", "-v", "--help", "-h"})
#: Longest settings passed as an argument (Linux takes 128 KiB an argument); longer ones in a file.
MAX_ARGUMENT = 100_000


class ClaudeCode(Hooked):
    """Anthropic's Claude Code."""

    name = "claude"
    title = "Claude Code"
    binary = "claude"
    places = ("~/.claude/local", "~/.claude/local/node_modules/.bin")
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
        """The same command line with `--settings` in front; subcommands pass untouched.

        Raises ValueError if the user's own `--settings` cannot be read.
        """
        if does_other_work(args, SUBCOMMANDS, QUESTIONS):
            return Launch([program, *args])
        from pmem.agents.claude_settings import (
            hooks_switched_off,
            read_settings,
            take_settings,
            with_hooks,
        )

        env = os.environ if env is None else env
        cwd = Path.cwd() if cwd is None else cwd
        rest, value = take_settings(args)
        given = read_settings(value, cwd) if value is not None else {}
        settings = json.dumps(
            with_hooks(given, hook, "'hooks' in your --settings"), ensure_ascii=False
        )
        if len(settings.encode("utf-8", "replace")) > MAX_ARGUMENT:
            file = run_dir / "claude-settings.json"
            file.write_text(settings, "utf-8", "replace")
            settings = str(file)
        off = hooks_switched_off(given, rest, env, cwd)
        remark = f"Claude Code runs no hooks here ({off}): pmem sees nothing" if off else ""
        return Launch([program, "--settings", settings, *rest], remark=remark)

    def reader(self) -> Reader:
        """Of its hooks."""
        from pmem.agents.claude_hooks import ClaudeHooks

        return ClaudeHooks()


CLAUDE_CODE = ClaudeCode()
