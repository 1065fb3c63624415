"""Grounds: what GRPO is trained on, found in a directory: the pivots of labelled runs, or of
recorded sessions, dealt into those to train on and those of other tasks that are held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pmem.core.history import Facts
from pmem.core.redact import redact as plain_redact
from pmem.core.step import Step
from pmem.evaluation.dataset import Run, load_dataset
from pmem.store.session_log import STEPS, read_decisions, read_steps
from pmem.training.examples import UNTOLD
from pmem.training.export import held_out
from pmem.training.outcome import came_back, facts_of, noise, of_reminder
from pmem.training.pivots import load_rollouts, pivots, policies_over, with_outcomes
from pmem.training.played import PlayedAnswers
from pmem.training.turns import Turn, look, turns_of

#: The share of tasks that is held out.
SHARE = 0.2
MANIFEST = "manifest.jsonl"


@dataclass(frozen=True, slots=True)
class Sides:
    """Pivots to train on, and those of other tasks that are held out."""

    train: Sequence[Turn]
    held_out: Sequence[Turn]

    @property
    def stamp(self) -> str:
        """Equal for the same pivots."""
        ids = "\n".join(turn.id for turn in (*self.train, *self.held_out))
        return sha256(ids.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Grounds:
    """The runs of a directory, and their pivots."""

    folder: Path
    runs: Mapping[str, Run]
    pivots: Sequence[Turn]

    @property
    def sides(self) -> Sides:
        """The pivots by side: a task stays on its side when others are added."""
        task = {id: _task(run) for id, run in self.runs.items()}
        held = held_out(task.values(), SHARE)
        return Sides(
            [turn for turn in self.pivots if task[turn.run] not in held],
            [turn for turn in self.pivots if task[turn.run] in held],
        )


def gather(
    folder: Path,
    *,
    redact: Callable[[str], str] = plain_redact,
    begin: Callable[[int], None] = lambda total: None,
    progress: Callable[[], None] = lambda: None,
) -> Grounds:
    """The runs of a labelled dataset, or else the sessions at and below a directory, and their
    pivots; `begin` is told how many runs there are, `progress` is called after each.

    Raises ValueError with a sentence if there are none or a file cannot be used, OSError.
    """
    labelled = (folder / MANIFEST).is_file()
    places = {} if labelled else _sessions(folder)
    runs = load_dataset(folder) if labelled else [session_run(*one) for one in places.items()]
    if not runs:
        raise ValueError(f"{folder} holds no labelled runs ({MANIFEST}) and no session ({STEPS})")
    begin(len(runs))
    turns: list[Turn] = []
    for run in runs:
        if labelled:
            turns += turns_of(run, folder, redact=redact)
        else:
            turns += session_turns(run, places[run.id], redact=redact)
        progress()
    turns = with_outcomes(turns, load_rollouts(folder))
    decisions = policies_over(runs, folder if labelled else None)
    return Grounds(folder, {run.id: run for run in runs}, pivots(turns, decisions))


def _sessions(folder: Path) -> dict[str, Path]:
    """The sessions at and below a directory, by where they lie in it."""
    places = sorted(path.parent for path in folder.rglob(STEPS))
    return {place.relative_to(folder).as_posix(): place for place in places}


def session_run(id: str, place: Path) -> Run:
    """A recorded session as a run without labels. Raises OSError if it cannot be read."""
    recorded = read_steps(place)
    lines = [step.to_json() for step in recorded.steps]
    return Run(id, "", recorded.header, lines, (), ())


def session_turns(
    run: Run, place: Path, *, redact: Callable[[str], str] = plain_redact
) -> list[Turn]:
    """The turns of a recorded session, replayed on an empty bank, judged by what came of them.

    A reminder was right if it was followed and nobody called it noise; silence was wrong if a
    failure seen before came back in the five acts after it, and that is what should have been told.
    """
    decisions = read_decisions(place)[0]
    facts, marked = facts_of(map(Step.from_json, run.lines)), noise(decisions)
    said = {int(d["before_step"]): d for d in decisions if d.get("decision") == "remind"}
    turns = []
    for turn in look(run.header, run.lines, PlayedAnswers({}), redact=redact)[0]:
        decision = said.get(turn.before_step)
        if decision is None:
            judged = _of_silence(facts, turn.before_step)
        else:
            judged = _of_reminder(decision, run.lines, marked)
        turns.append(replace(turn, run=run.id, wanted=judged[0], about=judged[1]))
    return turns


def _of_silence(facts: Sequence[Facts], before: int) -> tuple[bool | None, str]:
    back = came_back(facts, before - 1)
    return (False, "") if back is None else (True, f"{back.normal} {back.failure}")


def _of_reminder(
    decision: Mapping[str, Any],
    lines: Sequence[Mapping[str, Any]],
    marked: set[tuple[Any, Any]],
) -> tuple[bool | None, str]:
    why = of_reminder(decision, lines, marked)
    if why in UNTOLD:
        return None, ""
    return (False, "") if why else (True, str(decision.get("text", "")))


def _task(run: Run) -> str:
    """A key equal for all runs of one task."""
    told = " ".join(str(run.header.get("task") or run.id).split())
    return sha256(told.encode("utf-8", "replace")).hexdigest()
