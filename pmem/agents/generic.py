"""Any other program: it runs as it is, and pmem sees nothing of what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pmem.agents.protocol import HookLine, Launch
from pmem.core.event import Answer, Event


class Generic:
    """A program without hooks. Its events come, if at all, by way of the terminal."""

    name = "generic"
    title = "any program"
    binary = ""
    tells = False
    can_hold = False
    shows = False

    def find(self, env: Mapping[str, str]) -> Path | None:
        """There is nothing to find."""
        return None

    def launch(
        self,
        program: str,
        args: Sequence[str],
        hook: HookLine,
        run_dir: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Launch:
        """The command line untouched."""
        return Launch([program, *args])

    def events(self, payload: bytes) -> list[Event]:
        """No hook of such a program speaks to us."""
        return []

    def answer(self, payload: bytes, answer: Answer) -> bytes:
        """It has no way to read one."""
        return b""


GENERIC = Generic()
