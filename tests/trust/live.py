"""A real session process and its hooks, for who tries its faults and its load."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pmem.core.bank import MemoryBank
from pmem.hook.client import WIRE
from pmem.session import process
from pmem.store import jsonl
from pmem.store.bank_toml import loads
from pmem.store.project import Project, find_project
from pmem.store.settings import Settings

#: Seconds after which a session counts as hung.
STUCK = 60.0


class Live:
    """One session process on a project; what it acknowledged is in `acknowledged`."""

    def __init__(self, root: Path, env: dict[str, str] | None = None, **settings: Any) -> None:
        self.env = dict(env or os.environ)
        self.root = root
        self.project: Project = find_project(root, self.env)
        config = process.SessionConfig(
            self.project, Settings(**settings), "claude", ("claude",), root
        )
        self.running = process.start(config, self.env)
        self.pid = self.running.pid
        self.acknowledged: list[str] = []
        #: Why the latest hook that was not answered was not.
        self.trouble = ""
        self.summary: dict[str, Any] = {}
        self._until("ready")

    def step(self, command: str, output: str = "", code: int = 0, seconds: float = 30.0) -> bool:
        """Tell of one finished command, as Claude Code's hook does; True if it was taken in."""
        taken = self.tell(self._finished(command, output, code), seconds) is not None
        if taken:
            self.acknowledged.append(command)
        return taken

    def at_once(self, commands: Sequence[str]) -> None:
        """Tell of finished commands, each by a hook of its own, all before the first answer."""
        asked = [(command, self._ask(self._finished(command))) for command in commands]
        for command, link in asked:
            with contextlib.suppress(OSError):
                _answer(link)
                self.acknowledged.append(command)

    def _finished(self, command: str, output: str = "", code: int = 0) -> bytes:
        said: dict[str, Any] = {
            "session_id": "s",
            "cwd": str(self.root),
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "tool_use_id": command,
        }
        if code:
            said |= {
                "hook_event_name": "PostToolUseFailure",
                "error": f"Exit code {code}\n{output}",
            }
        else:
            answer = {"stdout": output, "stderr": "", "interrupted": False}
            said |= {"hook_event_name": "PostToolUse", "tool_response": answer}
        return json.dumps(said).encode()

    def tell(self, payload: bytes, seconds: float = 30.0) -> bytes | None:
        """The answer to one payload, None if there was none in time."""
        try:
            return _answer(self._ask(payload, seconds))
        except OSError as error:
            self.trouble = f"{type(error).__name__}: {error}"
            return None

    def _ask(self, payload: bytes, seconds: float = 30.0) -> socket.socket:
        """As a hook client does, but no transfer of it longer than `seconds`."""
        reach = self.running.env
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            link.connect(reach["PMEM_SOCK"])  # with a limit it would not wait for its turn
            link.settimeout(seconds)
            link.sendall(b"%s %s claude\n" % (WIRE, reach["PMEM_TOKEN"].encode()) + payload)
            link.shutdown(socket.SHUT_WR)
        except OSError:
            link.close()
            raise
        return link

    def end(self) -> dict[str, Any]:
        """End it as the terminal process does; its summary."""
        self.running.link.send({"type": "end"})
        self.summary = self._until("summary")
        os.waitpid(self.pid, 0)
        return self.summary

    def memory(self) -> int:
        """Resident memory of the session process, in bytes; 0 where the system does not tell."""
        try:
            pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        except OSError:
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _until(self, kind: str) -> dict[str, Any]:
        link, end = self.running.link, time.monotonic() + STUCK
        while time.monotonic() < end:
            link.flush()
            if kind == "ready" and link.ready is not None:
                return dict(link.ready)
            for message in link.receive():
                if message.get("type") == kind:
                    return message
            if link.dead:
                break
            time.sleep(0.005)
        raise AssertionError(f"the session never said {kind}: {link.lost}")


def _answer(link: socket.socket) -> bytes:
    """What is answered, to its end."""
    with link:
        answer = b""
        while part := link.recv(1 << 16):
            answer += part
        return answer


def bank_of(project: Project) -> MemoryBank:
    """The bank in the file, empty if there is none."""
    return loads(project.bank.read_text("utf-8")) if project.bank.exists() else MemoryBank()


def kept(project: Project) -> dict[str, int]:
    """How many attempts of each command bank and archive hold together."""
    counted: dict[str, int] = {}
    archived = list(jsonl.Lines(project.archive))
    for entry in archived:
        command = str(entry.get("command", ""))
        counted[command] = counted.get(command, 0) + int(entry.get("attempts", 0))
    for one in bank_of(project).entries.values():
        counted[one.command] = counted.get(one.command, 0) + one.attempts
    return counted


def logged(project: Project) -> list[str]:
    """The commands in all steps files of a project, in order."""
    return [
        str(record["action"])
        for path in sorted(project.state.glob("*/steps.jsonl"))
        for record in jsonl.Lines(path)
        if "step" in record
    ]
