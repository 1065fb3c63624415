"""The two lines around a run: what memory it has, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pmem.cli.environment import Environment
from pmem.cli.words import count, shown

if TYPE_CHECKING:
    from pmem.session.process import SessionConfig
    from pmem.terminal.link import Link

#: The start line waits this long for the bank to be read, in seconds.
READY = 0.5
#: At the end the bank may be written for this long, in seconds.
SUMMARY = 3.0


class Report:
    """Listens to the session process from the terminal's side, before and after the program."""

    def __init__(self, environment: Environment, config: SessionConfig, link: Link) -> None:
        self.environment = environment
        self.config = config
        self.link = link
        self.ready: dict[str, Any] | None = None
        self.summary: dict[str, Any] | None = None

    def start_line(self, remark: str = "") -> None:
        """`pmem: rules · 12 entries · .pmem/bank.toml`, and what else must be known."""
        self.ready = self.link.wait_ready(READY)
        parts = [self.config.settings.arm]
        if self.ready is not None:
            parts = [str(self.ready["memory"]), count(int(self.ready["entries"]), "entry")]
        parts.append(shown(self.config.project.bank, self.environment.cwd))
        self._line([*parts, *([remark] if remark else [])])
        self._note()

    def end(self, exit_code: int) -> None:
        """Tell the session process that the program is gone; wait until the bank is written.

        Without a terminal, a session that never got as far as being ready has heard nothing,
        so there is nothing to wait for.
        """
        self.ready = self.ready or self.link.wait_ready(0.0)
        if self.ready is not None or self.environment.terminal:
            self.summary = self.link.ask_end(exit_code, SUMMARY)
            self.ready = self.ready or self.link.wait_ready(0.0)
        self._note()
        self.link.close()

    def end_line(self) -> None:
        """`41 steps · 2 reminders · 6 new entries · .pmem/bank.toml · pmem log`."""
        told = self.summary
        if told is None:
            log = self.config.project.state / "errors.log"
            self.environment.say(f"memory ended before its time; {log} may say why")
            return
        self._line(
            [
                count(int(told["steps"]), "step"),
                count(int(told["reminders"]), "reminder"),
                count(int(told["new_entries"]), "new entry", "new entries"),
                str(told["bank"]),
                "pmem log",
            ]
        )

    def _line(self, parts: Sequence[str]) -> None:
        text = "pmem: " + " · ".join(parts)
        if self.environment.colour(self.environment.stderr):
            text = f"\x1b[2m{text}\x1b[0m"
        self.environment.write_words(text)

    def _note(self) -> None:
        """What the user has to know of the bank (a broken file kept aside), once."""
        note = self.ready.pop("note", "") if self.ready is not None else ""
        if note:
            self.environment.say(str(note))
