"""Played: recorded answers of another memory agent, played again to pmem's own prompts.

A dataset may hold `labels/played_decisions.jsonl`: what a strong model, asked after some steps of a
run, kept and said. Replayed as a model of `selective`, it gives conversations as pmem has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmem.core.redact import redact
from pmem.evaluation.dataset import Run, numbered_rows
from pmem.evaluation.played import Played, Taken
from pmem.evaluation.replay import replay
from pmem.memory.arms import Together, memory_agent
from pmem.models.prices import Prices
from pmem.models.protocol import Reply, Request, ToolCall
from pmem.models.recorded import Recorded
from pmem.session.ledger import Ledger
from pmem.training.calls import asked_at

FILE = "labels/played_decisions.jsonl"
NAME = "played"


class PlayedAnswers:
    """A chat model that answers what was answered after the step at hand, and else is silent."""

    name = NAME
    native_tools = True

    def __init__(self, answers: Mapping[int, Mapping[str, Any]]) -> None:
        self.answers = answers
        self._before = self._at = -1
        self._n = 0

    def ask(self, request: Request) -> Reply:
        """The recorded answer of this phase; several since the last question are one."""
        if request.phase == "manage":
            self._before, self._at = self._at, asked_at(request.messages[1].text)
        answers = [a for n, a in sorted(self.answers.items()) if self._before < n <= self._at]
        calls, said = answered(answers)
        if request.phase != "manage":
            return Reply(said)
        if not calls and not any(a.get("say") for a in answers):
            return Reply("<no_intervention/>")
        made = []
        for name, arguments in calls:
            self._n += 1
            made.append(ToolCall(f"call_{self._n}", name, arguments))
        return Reply("", tuple(made))

    def close(self) -> None:
        """There is nothing to end."""


def play_again(dataset: Path, run: Run, folder: Path) -> bool:
    """Replay one labelled run with the answers recorded for it, every call kept in `folder`, as
    `--prompts-to` keeps it; False if there are none.

    Raises ValueError with a sentence if the file cannot be read, OSError if the folder cannot be
    written.
    """
    answers = recorded_answers(dataset, run)
    if not answers:
        return False
    agent = memory_agent("selective", Recorded(PlayedAnswers(answers), folder), redact=redact)
    assert isinstance(agent, Together)
    memory = Played(agent, Taken(Ledger(NAME, Prices({}))))
    replay(run.header, run.lines, memory, redact=redact)
    return True


def recorded_answers(dataset: Path, run: Run) -> dict[int, Mapping[str, Any]]:
    """What another memory agent answered over a run, by the step after which it was asked; empty
    where the dataset has none. Raises ValueError with a sentence if the file cannot be read."""
    path = dataset / FILE
    return {
        row["after_step"]: row["answer"]
        for _, row in (numbered_rows(path) if path.exists() else ())
        if row.get("trajectory") == run.id and isinstance(row.get("answer"), dict)
    }


def answered(
    answers: Sequence[Mapping[str, Any]],
) -> tuple[list[tuple[str, Mapping[str, Any]]], str]:
    """Recorded answers as what a model of ours would answer: the calls of phase 1, and the text of
    phase 2."""
    return [call for answer in answers for call in _calls(answer)], _said(answers)


def _calls(answer: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    calls: list[tuple[str, Mapping[str, Any]]] = []
    if answer.get("status"):
        calls.append(("memory_update_status", {"content": str(answer["status"])}))
    for section in ("knowledge", "procedural"):
        calls += ((f"memory_save_{section}", entry) for entry in answer.get(section) or ())
    calls += (("memory_delete", {"id": str(id)}) for id in answer.get("delete") or ())
    return calls


def _said(answers: Sequence[Mapping[str, Any]]) -> str:
    for answer in reversed(answers):
        say = answer.get("say")
        if say:
            text, ids = (say, ()) if isinstance(say, str) else (say["text"], say.get("entries", ()))
            cited = f' entries="{", ".join(ids)}"' if ids else ""
            return f"<context_for_action{cited}>{text}</context_for_action>"
    return "<no_intervention/>"
