"""The environment of `pmem agent`: one shell that keeps its directory and variables."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pmem.core.text import clean
from pmem.core.trajectory import cut_middle

#: Characters of an output that the acting model reads.
MAX_OUTPUT = 16_000
#: Seconds a shell has to come back after its command was broken off.
GRACE = 5.0


class Ran(NamedTuple):
    """What a command printed, its exit code (None if it was broken off), and how long it took."""

    output: str
    exit_code: int | None
    seconds: float
    cwd: str


class AgentShell:
    """A shell in a pty of its own, spawned by pexpect. Commands are read from a private file."""

    def __init__(self, env: Mapping[str, str], cwd: Path) -> None:
        self._env = {
            **env,
            "PS1": "",
            "PS2": "",
            "PROMPT_COMMAND": "",
            "PAGER": "cat",
            "TERM": "dumb",
        }
        self._env |= {"GIT_PAGER": "cat", "PMEM_ACTIVE": "1"}
        self.cwd = str(cwd)
        self._dir = Path(tempfile.mkdtemp(prefix="pmem-agent-"))
        self._shell: Any = None

    def run(self, command: str, seconds: float) -> Ran:
        """Run one command to its end, or for so many seconds; then it is broken off."""
        import pexpect

        shell = self._shell or self._start()
        mark = secrets.token_hex(8)
        script = self._dir / "command"
        script.write_text(command + "\n", encoding="utf-8", errors="surrogateescape")
        began = time.monotonic()
        shell.sendline(f". {shlex.quote(str(script))}; printf '\\n%s %d %s\\n' {mark} $? \"$PWD\"")
        try:
            found = shell.expect(
                [rf"\r?\n{mark} (\d+) ([^\r\n]*)\r?\n", pexpect.EOF], timeout=seconds
            )
        except pexpect.TIMEOUT:
            return self._broken_off(mark, began)
        took = time.monotonic() - began
        output = cut_middle(clean(shell.before), MAX_OUTPUT)
        if found == 1:  # the command ended the shell itself
            self._forget()
            code = shell.exitstatus
            return Ran(
                output,
                code if code is not None else 128 + (shell.signalstatus or 0),
                took,
                self.cwd,
            )
        self.cwd = shell.match[2]
        return Ran(output, int(shell.match[1]), took, self.cwd)

    def close(self) -> None:
        """End the shell and what still runs in it."""
        self._forget()
        shutil.rmtree(self._dir, ignore_errors=True)

    def _start(self) -> Any:
        import pexpect

        bash = shutil.which("bash", path=self._env.get("PATH"))
        program = (bash, ["--noprofile", "--norc", "--noediting"]) if bash else ("/bin/sh", [])
        cwd = self.cwd if os.path.isdir(self.cwd) else None  # noqa: PTH112
        self._shell = pexpect.spawn(
            *program, env=self._env, cwd=cwd, encoding="utf-8", codec_errors="replace",
            echo=False, dimensions=(50, 200), timeout=30,
        )  # fmt: skip
        return self._shell

    def _broken_off(self, mark: str, began: float) -> Ran:
        """Interrupt; a shell that does not come back is replaced by a new one."""
        import pexpect

        shell = self._shell
        said = str(shell.before or "")
        shell.sendintr()
        try:
            shell.expect(rf"\r?\n{mark} (\d+) ([^\r\n]*)\r?\n", timeout=GRACE)
            said = shell.before
        except (pexpect.TIMEOUT, pexpect.EOF):
            self._forget()
        took = time.monotonic() - began
        said = f"{cut_middle(clean(said), MAX_OUTPUT)}\n[broken off after {took:.0f} s]"
        return Ran(said, None, took, self.cwd)

    def _forget(self) -> None:
        if self._shell is not None:
            with contextlib.suppress(Exception):
                self._shell.close(force=True)
            self._shell = None
