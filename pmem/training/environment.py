"""Environment: the bank of one turn, on which a policy that learns carries out its tools for real.

TRL's `GRPOTrainer` takes the class as `environment_factory`: its public methods are the tools, and
`reset` is told the row at hand. The policy's last answer is phase 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pmem.core.bank import MemoryBank
from pmem.memory.model.parse import without_thoughts
from pmem.memory.model.tools import carry_out
from pmem.training.calls import Call
from pmem.training.episode import Episode, Played, play
from pmem.training.turns import Turn

Message = Mapping[str, Any]


class MemoryEnvironment:
    """The bank as it was at a turn, changed by the tools as a session's would be."""

    def __init__(self, turns: Mapping[str, Turn]) -> None:
        self._turns = turns
        self._turn: Turn | None = None
        self._calls: list[Call] = []

    def reset(self, turn: str, **row: Any) -> None:
        """Begin at a turn, named by its id; nothing is left of what was done before."""
        self._turn = self._turns[turn]
        self._calls = []

    def memory_update_status(self, content: str = "") -> str:
        """Replace the private status.

        Args:
            content: where the work stands, what is open, what may go wrong

        Returns:
            What the tool came to.
        """
        return self._do("memory_update_status", content=content)

    def memory_save_knowledge(
        self,
        content: str = "",
        id: str | None = None,
        tags: list[str] | None = None,
        when: dict[str, Any] | None = None,
    ) -> str:
        """Keep a stable fact, or update it.

        Args:
            content: the fact, with its steps
            id: short words joined by -; a known id updates its entry
            tags: words to find it by
            when: a watch: the condition under which pmem itself reads the content to the agent

        Returns:
            What the tool came to.
        """
        return self._do("memory_save_knowledge", content=content, id=id, tags=tags, when=when)

    def memory_save_procedural(
        self,
        content: str = "",
        outcome: str = "",
        id: str | None = None,
        when: dict[str, Any] | None = None,
    ) -> str:
        """Keep what was tried and what came of it, or update it.

        Args:
            content: what was tried, with its steps
            outcome: failed, succeeded, diagnosis
            id: short words joined by -; a known id updates its entry
            when: a watch: the condition under which pmem itself reads the content to the agent

        Returns:
            What the tool came to.
        """
        return self._do(
            "memory_save_procedural", content=content, outcome=outcome, id=id, when=when
        )

    def memory_delete(self, id: str = "") -> str:
        """Delete an entry.

        Args:
            id: the id of the entry

        Returns:
            What the tool came to.
        """
        return self._do("memory_delete", id=id)

    def _do(self, tool: str, **arguments: Any) -> str:
        """Carry out one more call after those before it, as all of one answer are in a session."""
        given = {name: value for name, value in arguments.items() if value is not None}
        self._calls.append((tool, given))
        return carry_out(self._calls, self._here().bank())[-1].told

    def _bank(self) -> MemoryBank:
        """The bank as the calls so far have left it."""
        bank = self._here().bank()
        carry_out(self._calls, bank)
        return bank

    def _here(self) -> Turn:
        if self._turn is None:
            raise RuntimeError("an environment has to be reset before its tools can be called")
        return self._turn

    def _episode(self, completion: Sequence[Message]) -> Episode:
        """What a conversation that the policy has ended comes to, from the turn at hand."""
        return play(self._here(), played_in(completion))


def factory(turns: Sequence[Turn]) -> Callable[[], MemoryEnvironment]:
    """What makes environments for some turns."""
    by_id = {turn.id: turn for turn in turns}
    return lambda: MemoryEnvironment(by_id)


def played_in(completion: Sequence[Message]) -> Played:
    """What a policy answered: its first turn is phase 1, its second one phase 2."""
    said = [message for message in completion if message["role"] == "assistant"]
    if not said:
        return Played()
    calls = tuple(_call(call["function"]) for call in said[0].get("tool_calls") or ())
    answer = without_thoughts(str(said[1].get("content") or "")) if len(said) > 1 else None
    return Played(calls, without_thoughts(str(said[0].get("content") or "")), answer)


def _call(function: Mapping[str, Any]) -> Call:
    arguments = function.get("arguments")
    return str(function.get("name", "")), arguments if isinstance(arguments, dict) else {}
