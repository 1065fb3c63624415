"""History: what each command did so far in one trajectory, bounded for a week-long session.

The session feeds every step once; rules, watches and the bank's folding read from here, so
that a command is parsed and judged once, however many look at it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass

from pmem.core.effect import Effect, effect
from pmem.core.entry import MAX_ENTRIES
from pmem.core.failure import Verdict, is_refused, judge
from pmem.core.fingerprint import fingerprint
from pmem.core.signature import located, parse
from pmem.core.step import Action, Step

#: Commands and steps remembered; older ones are in the bank, which has room for as many.
MAX_COMMANDS = MAX_ENTRIES
MAX_FACTS = 512
#: Characters kept of an action that is no command.
MAX_TEXT = 400


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one finished step without its full text.

    `normal` and `cwd` are the command and the directory it ran in, so that `cd api && npm test`
    and `npm test` in api/ are one; other steps have the beginning of their action. `change`
    counts the changes of state (edits, installs, cd, …) seen up to and including this step,
    `unknown` the successful steps whose effect cannot be told.
    """

    number: int
    kind: str
    normal: str
    cwd: str
    failed: bool
    failure: str
    fingerprint: str
    effect: Effect
    exit_code: int | None
    ended: float | None
    change: int
    unknown: int
    #: Calls of one turn were sent together: none of them knew how another would end.
    turn: int | None = None
    #: The user turned the call down: nothing was done.
    refused: bool = False


class History:
    """Facts by command, and the latest ones in order."""

    def __init__(self) -> None:
        self.facts: deque[Facts] = deque(maxlen=MAX_FACTS)
        self._by_command: OrderedDict[tuple[str, str], tuple[Facts, ...]] = OrderedDict()
        self.changes = 0
        self.unknown = 0

    def observe(self, step: Step) -> Facts:
        """Judge a finished step, remember it and return its facts."""
        what = effect(step.proposed)
        verdict = judge(step)
        if what is Effect.CHANGES and not _changed_nothing(step, verdict):
            self.changes += 1
        elif what is Effect.UNKNOWN and not verdict.failed and not is_refused(step):
            self.unknown += 1
        normal, cwd = _key(step.proposed)
        facts = Facts(
            number=step.number,
            kind=step.kind,
            normal=normal,
            cwd=cwd,
            failed=verdict.failed,
            failure=verdict.failure,
            fingerprint=fingerprint(step.observation),
            effect=what,
            exit_code=step.exit_code,
            ended=step.ended,
            change=self.changes,
            unknown=self.unknown,
            turn=step.turn,
            refused=is_refused(step),
        )
        self.facts.append(facts)
        if step.kind == "command" and normal and not is_refused(step):
            self._remember(facts)
        return facts

    def attempts(self, action: Action) -> tuple[Facts, ...]:
        """The latest runs (at most eight) of the same command in the same directory."""
        return self._by_command.get(_key(action), ()) if action.kind == "command" else ()

    def _remember(self, facts: Facts) -> None:
        key = (facts.normal, facts.cwd)
        runs = (*self._by_command.pop(key, ()), facts)[-8:]
        self._by_command[key] = runs
        if len(self._by_command) > MAX_COMMANDS:
            self._by_command.popitem(last=False)


def _key(action: Action) -> tuple[str, str]:
    if action.kind == "command":
        return located(action.text, action.cwd or "")
    return action.text[:MAX_TEXT], action.cwd or ""


def _changed_nothing(step: Step, verdict: Verdict) -> bool:
    """Whether a step that would have changed something did not: refused, or failed whole.

    Of a failed line of several commands the first ones may have done their work.
    """
    if is_refused(step):
        return True
    return verdict.failed and (step.kind != "command" or len(parse(step.action)) == 1)
