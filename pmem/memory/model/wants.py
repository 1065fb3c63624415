"""Whether a model is worth asking now: calls that would change nothing are not made."""

from __future__ import annotations

from pmem.core.decision import Trigger
from pmem.core.history import Facts
from pmem.core.moment import Moment

#: A command that is not there, or cannot be executed.
_TRIVIAL_CODES = frozenset({126, 127})
_SEARCHES = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "test", "[", "diff", "cmp", "which"})


class Wants:
    """Remembers when the model was asked last, in one trajectory."""

    def __init__(self) -> None:
        self._asked_at = -1
        self._turn: int | None = None

    def asks(self, moment: Moment) -> bool:
        """Whether to ask at this moment; if so it counts as asked.

        Not after a trivial failure of a kind that did not happen before, not twice for calls
        that were sent together and fail together, not at the end of a turn without a new step.
        """
        last = moment.last_step
        number = last.number if last is not None else 0
        if moment.trigger is Trigger.PROPOSED:
            return False
        if moment.trigger is Trigger.FINISH and number == self._asked_at:
            return False
        if moment.trigger is Trigger.FAILURE and last is not None:
            if last.turn is not None and last.turn == self._turn:
                return False
            facts = list(moment.history.facts)
            if facts and _trivial(facts[-1]) and not _head_failed_before(facts):
                return False
        self._asked_at = number
        self._turn = last.turn if last is not None else None
        return True


def _trivial(facts: Facts) -> bool:
    if facts.exit_code in _TRIVIAL_CODES:
        return True
    return facts.exit_code == 1 and _head(facts) in _SEARCHES


def _head_failed_before(facts: list[Facts]) -> bool:
    head = _head(facts[-1])
    return any((f.failed or f.exit_code) and _head(f) == head for f in facts[:-1])


def _head(facts: Facts) -> str:
    return facts.normal.split(" ", 1)[0]
