"""Calls: what a model was asked and what it answered, read back as conversations of both phases.

Two places hold them: `model.jsonl` of a session, and a directory of `pmem replay --prompts-to`
(`calls.jsonl` and the prompts as text). One conversation is one memory step of the style
`selective`: the opening, the tool calls of phase 1 and their results, the answer of phase 2.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pmem.memory.model.parse import parse_tool_calls, says_nothing, without_thoughts
from pmem.store.jsonl import Lines
from pmem.store.session_log import CALLS as SESSION_CALLS

#: The file that says a directory was written by `--prompts-to`.
REPLAY_CALLS = "calls.jsonl"

#: How `pmem.models.command.rendered` writes a conversation as one text.
_ANSWERED = "\n\n[your answer before]\n"
_TASK = "\n\n# Task\n"
_RESULT = re.compile(r"<tool_response>\n(.*?)\n</tool_response>\n?", re.DOTALL)
#: How an answer without words and calls is shown to the model in phase 2.
NO_CALL = "(no call)"
#: A step of the window; what steps printed stands behind `|`.
_STEP = re.compile(r"^step (\d+): ", re.MULTILINE)

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: a text, and the model's calls or what they came to."""

    role: Literal["user", "assistant"]
    text: str
    calls: tuple[Call, ...] = ()
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Talk:
    """One memory step. `number` is that of its last call, `asked_at` the newest step it saw."""

    system: str
    turns: tuple[Turn, ...]
    number: int
    model: str
    asked_at: int

    @property
    def answer(self) -> str:
        """What the model decided, as it worded it."""
        return self.turns[-1].text


def session_talks(folder: Path, left: Counter[str]) -> Iterator[Talk]:
    """The memory steps of a session's directory; why others are left out is counted in `left`.

    Raises OSError if the file is there and cannot be read.
    """
    for record in Lines(folder / SESSION_CALLS):
        if "answer" not in record:
            left["the call failed"] += 1
            continue
        try:
            turns = [_turn(m) for m in record["messages"]]
            turns.append(reply_turn(record["answer"], record.get("calls") or ()))
            number, system, phase = int(record["n"]), str(record["system"]), record["phase"]
        except (KeyError, TypeError, ValueError):
            left["its record cannot be read"] += 1
            continue
        talk = Talk(
            system, tuple(turns), number, str(record.get("model", "")), asked_at(_opening(turns))
        )
        if _whole(phase, talk, left):
            yield talk


def replay_talks(folder: Path, left: Counter[str]) -> Iterator[Talk]:
    """The memory steps of one run below `--prompts-to`, as `session_talks`."""
    managed: dict[str, tuple[Turn, ...]] = {}
    for record in Lines(folder / REPLAY_CALLS):
        if "answer" not in record:
            left["the call failed"] += 1
            continue
        phase = str(record.get("phase", ""))
        path = folder / f"{record.get('n', 0):04}-{phase or 'call'}-prompt.txt"
        try:
            prompt = path.read_bytes().decode("utf-8", "replace")
            answer = reply_turn(
                record["answer"], [(c["name"], c["arguments"]) for c in record["calls"]]
            )
        except (OSError, KeyError, TypeError, ValueError):
            left["its record cannot be read"] += 1
            continue
        opening, answered, rest = prompt.removesuffix("\n").partition(_ANSWERED)
        system, found, task = opening.partition(_TASK)
        if not found:
            left["its record cannot be read"] += 1
            continue
        turns: tuple[Turn, ...] = (Turn("user", f"# Task\n{task}"),)
        if phase == "manage":
            shown = answer.text or ("" if answer.calls else NO_CALL)
            managed[opening] = (*turns, replace(answer, text=shown))
        elif answered:
            before = managed.get(opening)
            if before is None:
                left["its first phase is not there"] += 1
                continue
            turns = (*before, _after_answer(rest, before[-1]))
        talk = Talk(
            system,
            (*turns, answer),
            record["n"],
            str(record.get("model", "")),
            asked_at(_opening(turns)),
        )
        if _whole(phase, talk, left):
            yield talk


def _whole(phase: str, talk: Talk, left: Counter[str]) -> bool:
    """Whether a conversation holds a whole memory step; phase 1 alone is part of the next one."""
    answer = talk.turns[-1]
    if phase == "manage":
        return not answer.calls and says_nothing(answer.text)
    if phase != "decide" or not any(turn.role == "assistant" for turn in talk.turns[:-1]):
        left["it has one phase only"] += 1
        return False
    return True


def _turn(message: Mapping[str, Any]) -> Turn:
    if message["role"] == "assistant":
        return reply_turn(message["text"], message.get("calls") or ())
    return Turn("user", str(message["text"]), (), tuple(map(str, message.get("results") or ())))


def reply_turn(text: Any, calls: Sequence[Any]) -> Turn:
    """The model's turn: calls it wrote as text are calls, what it thought aloud is left out."""
    said = without_thoughts(str(text)).strip()
    made = [(str(name), dict(arguments)) for name, arguments in calls]
    if not made:
        found = parse_tool_calls(said)
        made = [(call.name, dict(call.arguments)) for call in found]
        said = _WRITTEN.sub("", said).strip() if found else said
    return Turn("assistant", said, tuple(made))


_WRITTEN = re.compile(
    r"<tool_call>.*?</tool_call>|<function=[\w.-]{1,80}>.*?</function>", re.DOTALL | re.IGNORECASE
)


def _after_answer(rest: str, answer: Turn) -> Turn:
    """The user's turn that follows an answer written as text: the results, then what is asked."""
    if not answer.calls:
        return Turn("user", rest.removeprefix(answer.text).strip())
    results = []
    at = rest.find("<tool_response>\n")
    while at >= 0 and (m := _RESULT.match(rest, at)) is not None:
        results.append(m[1])
        rest, at = rest[m.end() :], 0
    return Turn("user", rest.strip(), (), tuple(results))


def asked_at(opening: str) -> int:
    """The newest step of the window that an opening shows, 0 before the first."""
    return max((int(n) for n in _STEP.findall(opening)), default=0)


def _opening(turns: Sequence[Turn]) -> str:
    """What the user's turns say before the first answer."""
    until = next((n for n, turn in enumerate(turns) if turn.role == "assistant"), len(turns))
    return "\n".join(turn.text for turn in turns[:until])
