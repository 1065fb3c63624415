"""OpenAI's Codex CLI, by hooks that live for one session.

Tested with 0.171.0, `codex exec` and its own screen. The hooks travel on the command line
(`-c hooks.EVENT=…`), so no file of the user's is touched and theirs keep running.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pmem.agents.find import find_program
from pmem.agents.protocol import HookLine, Launch
from pmem.core.event import Answer, Event

if TYPE_CHECKING:
    from pmem.agents.codex_hooks import CodexHooks

#: Words that make Codex do something else than work on a task here.
SUBCOMMANDS = frozenset(
    {
        *(
            "agents",
            "app-server",
            "apply",
            "a",
            "archive",
            "cloud",
            "completion",
            "debug",
            "delete",
        ),
        *("doctor", "exec-server", "features", "help", "login", "logout", "mcp", "mcp-server"),
        *("migrate-nfs-db", "migrate-rollouts", "plugin", "queue", "remote-control", "sandbox"),
        *("unarchive", "update"),
    }
)
QUESTIONS = frozenset({"--version", "-V", "--help", "-h"})


class CodexCli:
    """OpenAI's Codex CLI."""

    name = "codex"
    title = "Codex CLI"
    binary = "codex"
    tells = True
    can_hold = True
    shows = True

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
        """The same command line with `-c hooks.…` in front; other subcommands pass untouched.

        Raises ValueError if the user's own `-c hooks…` cannot be merged.
        """
        before = args[: args.index("--")] if "--" in args else args
        if (args and args[0] in SUBCOMMANDS) or QUESTIONS.intersection(before):
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

    def events(self, payload: bytes) -> list[Event]:
        """What one hook told. Raises ValueError if it cannot be read."""
        return self._hooks.events(payload)

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """The hook's stdout."""
        return self._hooks.answer(payload, answer)

    @cached_property
    def _hooks(self) -> CodexHooks:
        from pmem.agents.codex_hooks import CodexHooks  # only the session process reads hooks

        return CodexHooks()


CODEX_CLI = CodexCli()
