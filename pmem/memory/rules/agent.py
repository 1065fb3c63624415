"""Rules: the memory agent that climbs the ladder and says the first thing a rung finds."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pmem.core.bank import BankOp
from pmem.core.decision import Decision, Silence
from pmem.core.moment import Moment
from pmem.memory.rules import (
    claim,
    denied,
    digest,
    failing_edit,
    knowledge,
    known_remedy,
    loop,
    lost_work,
    missing_tool,
    moved_directory,
    named_in_task,
    open_ends,
    partial_output,
    prohibition,
    recurring_cause,
    rediscovery,
    refused,
    repeated_failure,
    requirement,
    stale_text,
    status,
    told_remedy,
)
from pmem.memory.rules.rule import Rule

#: What is surest stands first; a step gets one reminder at most.
LADDER: tuple[Rule, ...] = (
    digest.RULE,
    prohibition.RULE,
    refused.RULE,
    repeated_failure.RULE,
    known_remedy.RULE,
    told_remedy.RULE,
    lost_work.RULE,
    missing_tool.RULE,
    denied.RULE,
    failing_edit.RULE,
    recurring_cause.RULE,
    loop.RULE,
    stale_text.RULE,
    moved_directory.RULE,
    partial_output.RULE,
    rediscovery.RULE,
    requirement.RULE,
    claim.RULE,
    named_in_task.RULE,
    open_ends.RULE,
)


class Rules:
    """The embedded memory agent. `only` switches rules on by name (default: all), `without` off.

    Raises ValueError for a name that no rule has.
    """

    name = "rules"

    def __init__(
        self, only: Collection[str] | None = None, *, without: Collection[str] = ()
    ) -> None:
        names = [rule.name for rule in LADDER]
        unknown = {*(only or ()), *without} - {*names}
        if unknown:
            raise ValueError(f"there is no rule {min(unknown)!r}; there are {', '.join(names)}")
        wanted = {*(names if only is None else only)} - {*without}
        self.rules = tuple(rule for rule in LADDER if rule.name in wanted)

    def manage(self, moment: Moment) -> Sequence[BankOp]:
        """What the rules keep of this moment, and the status."""
        ops: list[BankOp] = []
        for rule in self.rules:
            ops += rule.keep(moment)
        ops += knowledge.keep(moment)
        ops += status.keep(moment)
        return ops

    def decide(self, moment: Moment) -> Decision:
        """What the first rung finds, or silence."""
        for_agent = bool(moment.task or moment.user_messages)
        for rule in self.rules:
            if rule.agents_only and not for_agent:
                continue
            found = rule.look(moment)
            if found is not None:
                return found
        return Silence("no rule applies")
