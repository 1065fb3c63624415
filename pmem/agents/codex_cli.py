"""OpenAI's Codex CLI, by hooks that live for one session.

Tested with 0.171.0, `codex exec` and its own screen. The hooks travel on the command line
(`-c hooks.EVENT=…`), so no file of the user's is touched and theirs keep running.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pmem.agents.hooked import Hooked, Reader, does_other_work
from pmem.agents.protocol import HookLine, Launch

#: Words that make Codex do something else than work on a task here.
SUBCOMMANDS = frozenset(
    {
        *("agents", "app-server", "apply", "a", "archive", "cloud", "completion", "debug"),
        *("delete", "doctor", "exec-server", "features", "help", "login", "logout", "mcp"),
        *("mcp-server", "migrate-nfs-db", "migrate-rollouts", "plugin", "queue"),
        *("remote-control", "sandbox", "unarchive", "update"),
    }
)
QUESTIONS = frozenset({"--version", "-V", "--help", "-h"})


class CodexCli(Hooked):
    """OpenAI's Codex CLI."""

    name = "codex"
    title = "Codex CLI"
    binary = "codex"
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
        """The same command line with `-c hooks.…` in front; other subcommands pass untouched.

        Raises ValueError if the user's own `-c hooks…` cannot be merged.
        """
        if does_other_work(args, SUBCOMMANDS, QUESTIONS):
            return Launch([program, *args])
        from pmem.agents.codex_config import hooks_switched_off, take_hooks, with_hooks

        rest, theirs = take_hooks(args)
        ours = with_hooks(theirs, hook)
        off = hooks_switched_off(rest, os.environ if env is None else env)
        if off:
            remark = f"Codex runs no hooks here ({off}): pmem sees nothing"
        else:
            remark = "Codex trusts pmem's own hook for this run, by its hash; no other one with it"
        return Launch([program, *ours, *rest], remark=remark)

    def reader(self) -> Reader:
        """Of its hooks."""
        from pmem.agents.codex_hooks import CodexHooks

        return CodexHooks()


CODEX_CLI = CodexCli()
