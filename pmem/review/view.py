"""View: what review shows at this moment, and how each key moves it; nothing of a terminal here."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pmem.core.bank import Entry
from pmem.review import pages, rows, why
from pmem.review.desk import Conflict, Desk
from pmem.review.lines import Line, counted, wrapped
from pmem.review.recorded import Hunt, Recorded
from pmem.store.sessions import SessionInfo

STEPS, BANK, SESSIONS = "steps", "bank", "sessions"
PANES = (STEPS, BANK, SESSIONS)
#: What the filter of the steps goes through, by `f`.
FILTERS = ("", "spoke", "failed")


@dataclass
class Place:
    """Where a list stands: the chosen row, and the first one shown."""

    at: int = 0
    top: int = 0

    def keep(self, height: int, count: int) -> None:
        """Stay within `count` rows, and the chosen one within the `height` that are shown."""
        self.at = max(0, min(self.at, count - 1))
        height = max(height, 1)
        if self.at < self.top:
            self.top = self.at
        elif self.at >= self.top + height:
            self.top = self.at - height + 1
        self.top = max(0, min(self.top, count - height))


class View:
    """The state of the browser. Sizes of lists are in rows, `height` is what is visible of one."""

    def __init__(
        self,
        name: str,
        sessions: Sequence[SessionInfo],
        desk: Desk,
        own: Callable[[SessionInfo], Desk | None] = lambda info: None,
    ) -> None:
        """`desk` has the project's bank, `own` that which a session has for itself, if it does."""
        self.name = name
        self.sessions = list(sessions)
        self.desk = self._shared = desk
        self._own = own
        self.recorded: Recorded | None = None
        self.pane = STEPS if sessions else BANK
        self.places = {pane: Place() for pane in PANES}
        self.height = 10
        self.detail_height = 10
        self.detail_top = 0
        self.detail_count = 0
        self.in_detail = False
        self.whole = False
        self.prompts: bool | None = None
        self.help = False
        self.hunt: Hunt | None = None
        self.filter = ""
        self.sought = ""
        self.bank_filter = ""
        self.message = ""
        self.trouble = False
        self.conflict: Conflict | None = None
        self.digits = ""
        self.opened_at = time.time()
        self._page: tuple[tuple[object, ...], list[Line]] | None = None
        self._counts: dict[tuple[str, int], tuple[int, int]] = {}
        self._told: tuple[tuple[str, int], Counter[str]] | None = None

    # -- what there is ------------------------------------------------------------------------

    def open(self, info: SessionInfo, step: int | None = None) -> None:
        """Show a session: at a step, else at its end."""
        self.recorded = Recorded(info)
        self.desk = self._own(info) or self._shared
        self.hunt, self.filter = None, ""
        self.pane = STEPS
        self.whole = self.in_detail = False
        for n, one in enumerate(self.sessions):
            if one.id == info.id:
                self.places[SESSIONS].at = n
        self.go_to(step if step is not None else self.recorded.last)
        if step is not None and step != self.step:
            held = counted(self.recorded.count, "step")
            self.say(f"there is no step {step}; the session has {held}", trouble=True)

    @property
    def place(self) -> Place:
        """Where the list of the current pane stands."""
        return self.places[self.pane]

    @property
    def count(self) -> int:
        """Rows of the current pane."""
        return self.count_of(self.pane)

    def count_of(self, pane: str) -> int:
        """Rows of a pane."""
        if pane == SESSIONS:
            return len(self.sessions)
        if pane == BANK:
            return len(self.entries())
        if self.hunt is not None:
            return len(self.hunt.numbers)
        return self.recorded.count if self.recorded is not None else 0

    def entries(self) -> list[Entry]:
        """The bank's entries that pass the filter."""
        return rows.holding(self.desk.entries.values(), self.bank_filter)

    @property
    def unread(self) -> str:
        """Why the bank is not shown as its file is by now, "" if it is."""
        why_not = self.desk.bank_file.unread
        return f"{Path(self.desk.bank_file.path).name} cannot be read: {why_not}" if why_not else ""

    @property
    def entry(self) -> Entry | None:
        """The chosen entry."""
        found = self.entries()
        self.places[BANK].keep(self.height, len(found))
        return found[self.places[BANK].at] if found else None

    @property
    def step(self) -> int:
        """The number of the chosen step, 0 if there is none."""
        place = self.places[STEPS]
        if self.recorded is None:
            return 0
        if self.hunt is not None:
            return self.hunt.numbers[place.at] if place.at < len(self.hunt.numbers) else 0
        return self.recorded.first + place.at if self.recorded.count else 0

    def number_at(self, row: int) -> int:
        """The step in a row of the list."""
        assert self.recorded is not None
        return self.hunt.numbers[row] if self.hunt is not None else self.recorded.first + row

    def told(self) -> Counter[str]:
        """How often each watch was told in the session that is open."""
        if self.recorded is None:
            return Counter()
        key = (self.recorded.info.id, self.recorded.decisions.size)
        if self._told is None or self._told[0] != key:
            self._told = (key, rows.told_watches(self.recorded.spoken()))
        return self._told[1]

    def watch(self, entry: Entry) -> str:
        """How the watch of an entry stands in the session that is open."""
        last = self.recorded.last if self.recorded is not None else 0
        return rows.watch_state(entry, self.told()[entry.id], last)

    def detail(self, room: int) -> list[Line]:
        """The page about what is chosen; a conflict comes first."""
        if self.conflict is not None:
            return pages.conflict(self.conflict, room)
        if self.pane == SESSIONS and self.sessions:
            info = self.sessions[min(self.place.at, len(self.sessions) - 1)]
            return pages.session(info, self._counted(info), room)
        if self.pane == BANK:
            entry = self.entry
            if entry is None and self.unread:
                return wrapped(f"{self.unread}. The file is left as it is.", room, "trouble")
            if entry is None:
                return [[("dim", "Nothing is remembered that fits. a adds a fact of your own.")]]
            return rows.entry_page(entry, self.watch(entry), self.told()[entry.id], room)
        if self.recorded is None or not self.step:
            return [[("dim", "No step to show.")]]
        return self._step_page(self.recorded, room)

    def _step_page(self, recorded: Recorded, room: int) -> list[Line]:
        """The page of the chosen step; wrapped anew only if something in it may have changed."""
        bank = self.desk.bank_file.bank
        key = (
            *(recorded.info.id, self.step, room, self.with_prompts),
            *(recorded.steps.size, recorded.decisions.size, id(bank), bank.revision),
            self.unread,
        )
        if self._page is None or self._page[0] != key:
            known = bank.entries if bank.entries or not self.unread else None
            lines = why.page(recorded, self.step, known, room, prompts=self.with_prompts)
            self._page = (key, lines)
        return self._page[1]

    def _counted(self, info: SessionInfo) -> tuple[int, int]:
        """How often memory spoke in a session, and how often it put an action back."""
        key = (info.id, info.size)
        if key not in self._counts:
            told = list(Recorded(info).spoken())
            self._counts[key] = len(told), sum(1 for one in told if one.get("hold"))
        return self._counts[key]

    @property
    def with_prompts(self) -> bool:
        """Whether prompts are shown: on the whole page, unless the person said otherwise."""
        return self.whole if self.prompts is None else self.prompts

    # -- moving -------------------------------------------------------------------------------

    def move(self, by: int) -> None:
        """Some rows down, or up; in the detail, some lines."""
        if self.in_detail or self.whole or self.help:
            last = max(0, self.detail_count - self.detail_height)
            self.detail_top = max(0, min(self.detail_top + by, last))
            return
        self.place.at += by
        self.place.keep(self.height, self.count)
        self.detail_top = 0

    def choose(self, row: int) -> None:
        """One row of the current pane."""
        self.place.at = row
        self.place.keep(self.height, self.count)
        self.detail_top = 0

    def find(self, id: str) -> None:
        """Choose an entry of the bank, if it is shown."""
        for n, one in enumerate(self.entries()):
            if one.id == id:
                self.places[BANK].at = n
                self.places[BANK].keep(self.height, self.count_of(BANK))
                self.detail_top = 0

    def end(self, *, last: bool) -> None:
        """The first row, or the last; in the detail, its beginning or end."""
        self.move(1 << 60 if last else -(1 << 60))

    def go_to(self, number: int) -> None:
        """A step by its number; a filter that hides it is lifted."""
        if self.recorded is None or not self.recorded.count:
            return
        if self.hunt is not None and number not in self.hunt.numbers:
            self.hunt, self.filter = None, ""
        self.pane = STEPS
        if self.hunt is not None:
            self.choose(self.hunt.numbers.index(number))
        else:
            self.choose(number - self.recorded.first)

    def show(self, pane: str) -> None:
        """Another pane."""
        self.pane = pane
        self.whole = self.in_detail = False
        self.detail_top = 0
        self.place.keep(self.height, self.count)

    def next_spoken(self, *, back: bool = False) -> None:
        """The next step at which memory spoke, or the one before."""
        if self.recorded is None:
            return
        found = self.recorded.next_spoken(self.step, back=back)
        if found is None:
            self.say(f"it did not speak {'before' if back else 'after'} this step", trouble=True)
        else:
            self.go_to(found)

    def filter_steps(self, kind: str, text: str = "") -> None:
        """Show only some steps: `spoke`, `failed`, or those that hold a text; "" shows all."""
        if self.recorded is None:
            return
        at = self.step
        self.filter = kind or text
        self.hunt = Hunt(self.recorded, kind, text) if self.filter else None
        self.show(STEPS)
        if self.hunt is None:
            self.go_to(at)
        else:
            self.hunt.go_on()
            self.choose(0)

    def seek(self, text: str, *, back: bool = False) -> None:
        """The next step that holds a text, from the chosen one on and round the end."""
        self.sought = text or self.sought
        if self.recorded is None or not self.sought:
            return
        word = self.sought.casefold()
        records = self.recorded.steps
        if back:
            ways = (records.backward(records.find(self.step)), records.backward(records.size))
        else:
            ways = (records.forward(records.find(self.step + 1)), records.forward(0))
        for again, found in enumerate(ways):
            for _, record in found:
                if word in f"{record.get('action')}\n{record.get('observation')}".casefold():
                    self.go_to(record["step"])
                    if again:
                        self.say(f"{self.sought}: from the {'end' if back else 'beginning'} again")
                    return
        self.say(f"{self.sought} stands in no step", trouble=True)

    def say(self, message: str, *, trouble: bool = False) -> None:
        """A word on the last line, until the next key."""
        self.message, self.trouble = message, trouble

    def take(self, said: str | Conflict) -> None:
        """What came of a change."""
        if isinstance(said, Conflict):
            self.conflict = said
            self.show(BANK)
        else:
            self.say(said)
        self.places[BANK].keep(self.height, self.count_of(BANK))
