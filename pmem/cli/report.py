"""The two lines around a run: what memory it has, and what came of it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pmem.cli.environment import Environment
from pmem.cli.words import count, shown

if TYPE_CHECKING:
    from pmem.session.process import SessionConfig
    from pmem.store.project import Project
    from pmem.terminal.link import Link

#: The longest wait for a bank to be read, in seconds.
READY = 3.0
#: At the end the bank may be written for this long, in seconds.
SUMMARY = 3.0
#: In the state directory: the bank as pmem wrote it last.
COPY = "bank.toml.good"


class Report:
    """Listens to the session process from the terminal's side, before and after the program.

    Neither the program's start nor its end waits for that process to be ready, unless the bank
    was changed by other hands since pmem wrote it: then there may be something to tell.
    """

    def __init__(self, environment: Environment, config: SessionConfig, link: Link) -> None:
        self.environment = environment
        self.config = config
        self.link = link
        self.own = config.settings.scope == "session"
        self.entries = 0 if self.own else known_entries(config.project)
        self.ready: dict[str, Any] | None = None
        self.summary: dict[str, Any] | None = None

    def start_line(self, remark: str = "") -> None:
        """`pmem: rules · 12 entries · .pmem/bank.toml`, and what else must be known."""
        parts = [self.config.settings.arm]
        if self.entries is None:
            self.ready = self.link.wait_ready(READY)
        if self.ready is not None:
            parts, self.entries = [str(self.ready["memory"])], int(self.ready["entries"])
        if self.entries is not None:
            parts.append(count(self.entries, "entry"))
        bank = shown(self.config.project.bank, self.environment.cwd)
        parts.append("a bank of this session's own" if self.own else bank)
        self._line([*parts, *([remark] if remark else [])])
        self._note()

    def end(self, exit_code: int) -> None:
        """Tell the session process that the program is gone; wait until the bank is written.

        One that is not ready by now has heard of nothing, so there is nothing to wait for.
        """
        patience = 0.0 if self.entries is not None else READY
        self.ready = self.ready or self.link.ready or self.link.wait_ready(patience)
        if self.ready is not None:
            self.summary = self.link.ask_end(exit_code, SUMMARY)
        elif self.link.alive:
            self.summary = {"steps": 0, "reminders": 0, "new_entries": 0}
        self._note()
        self.link.close()

    def end_line(self) -> None:
        """`41 steps · 2 reminders · 6 new entries · .pmem/bank.toml · pmem review`."""
        told = self.summary
        if told is None:
            log = self.config.project.state / "errors.log"
            self.environment.say(f"memory ended before its time; {log} may say why")
            return
        bank = shown(self.config.project.bank, self.environment.cwd)
        self._line(
            [
                count(int(told["steps"]), "step"),
                count(int(told["reminders"]), "reminder"),
                count(int(told["new_entries"]), "new entry", "new entries"),
                str(told.get("bank", bank)),
                "pmem review",
            ]
        )

    def _line(self, parts: Sequence[str]) -> None:
        text = "\n".join(fitted(parts, self.environment.columns))
        if self.environment.colour(self.environment.stderr):
            text = f"\x1b[2m{text}\x1b[0m"
        self.environment.write_words(text)

    def _note(self) -> None:
        """What the user has to know of the bank (a broken file kept aside), each once."""
        for told in (self.ready, self.summary):
            note = told.pop("note", "") if told is not None else ""
            if note:
                self.environment.say(str(note))


def fitted(parts: Sequence[str], columns: int) -> list[str]:
    """`pmem: PART · PART`, in more than one line only where a terminal would cut it in a word."""
    lines = [f"pmem: {parts[0]}"]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 3 <= columns:
            lines[-1] += f" · {part}"
        else:
            lines += textwrap.wrap(
                part,
                max(columns, 20),
                initial_indent=" " * 6,
                subsequent_indent=" " * 6,
                break_long_words=False,
                break_on_hyphens=False,
            )
    return lines


def known_entries(project: Project) -> int | None:
    """How many entries the bank has if it is as pmem wrote it last; None if it may be otherwise.

    Much faster than reading it: the blocks of the file are only counted.
    """
    try:
        bank = project.bank.read_bytes()
    except FileNotFoundError:
        return 0
    except OSError:
        return None
    try:
        if project.read_only or bank != (project.state / COPY).read_bytes():
            return None
    except OSError:
        return None
    entries, in_text = 0, False
    for line in bank.split(b"\n"):
        if not in_text:
            entries += line in (b"[[knowledge]]", b"[[procedural]]")
            in_text = line.endswith(b' = """')
        elif line.endswith(b'"""'):
            rest = line[:-3]
            escapes = len(rest) - len(rest.rstrip(b"\\"))
            in_text = escapes % 2 == 1
    return entries
