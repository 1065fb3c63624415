"""Sources: where recorded memory steps lie, and which of them are worth learning from."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pmem.core.history import Facts
from pmem.evaluation.dataset import Run
from pmem.memory.model.parse import find_intervention
from pmem.store.session_log import CALLS as SESSION_CALLS
from pmem.store.session_log import DECISIONS, STEPS, read_decisions, read_steps
from pmem.training.calls import REPLAY_CALLS, Talk, replay_talks, session_talks
from pmem.training.outcome import facts_of, labelled, noise, of_reminder, recurred

#: What a record of decisions.jsonl decides; others are a person's marks.
DECIDED = ("remind", "silent")


@dataclass(frozen=True, slots=True)
class Source:
    """One recorded run: a session's directory, or one below `--prompts-to`. `run` is the labelled
    run it is a replay of, None if it is none."""

    path: Path
    run: Run | None = None

    @property
    def is_session(self) -> bool:
        """Whether a session left it, and no replay."""
        return (self.path / SESSION_CALLS).is_file()

    @property
    def stamp(self) -> str:
        """Equal as long as nothing was added to it."""
        told = [str(self.path.absolute()), str(self.run.labels if self.run else "")]
        for name in (SESSION_CALLS, REPLAY_CALLS, STEPS, DECISIONS):
            path = self.path / name
            if path.is_file():
                told.append(f"{name} {path.stat().st_size} {path.stat().st_mtime_ns}")
        return hashlib.sha256("\n".join(told).encode("utf-8", "replace")).hexdigest()[:32]


@dataclass
class Kept:
    """The memory steps of a source that are kept, and why others are not, counted."""

    talks: list[Talk] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)


def sources_in(paths: Iterable[Path], runs: Mapping[str, Run]) -> list[Source]:
    """The recorded runs at and below some directories, each once, in the order of their paths.

    A directory below `--prompts-to` that bears a labelled run's name is a replay of that run.
    """
    found: dict[Path, Source] = {}
    for path in paths:
        for name in (SESSION_CALLS, REPLAY_CALLS):
            for file in (path / name, *sorted(path.rglob(name))):
                if file.is_file():
                    folder = file.parent
                    run = runs.get(folder.name) if name == REPLAY_CALLS else None
                    found.setdefault(folder.resolve(), Source(folder, run))
    return [found[place] for place in sorted(found)]


def keep(source: Source, *, everything: bool = False) -> Kept:
    """The memory steps of a source that were right as far as can be told; with `everything` all
    that can be read.

    Of a session: reminders that were delivered and followed and not called noise, silences after
    which no earlier failure came back. Of a replay: what agrees with the labels of its run.
    Raises OSError if a file cannot be read.
    """
    kept = Kept()
    if source.is_session:
        judge = _Session.read(source.path)
        for talk in session_talks(source.path, kept.left):
            _take(kept, talk, "" if everything else judge.refuses(talk))
        return kept
    for talk in replay_talks(source.path, kept.left):
        _take(kept, talk, "" if everything else _by_labels(talk, source.run))
    return kept


def _take(kept: Kept, talk: Talk, why: str) -> None:
    if why:
        kept.left[why] += 1
    else:
        kept.talks.append(talk)


def speaks(talk: Talk) -> bool:
    """Whether a memory step ends in a reminder for the next action."""
    found = find_intervention(talk.answer)
    return found is not None and found.when is None


@dataclass(frozen=True, slots=True)
class _Session:
    """What a session's log tells of its decisions."""

    facts: Sequence[Facts]
    lines: Sequence[Mapping[str, object]]
    by_call: Mapping[int, Mapping[str, object]]
    marked: set[tuple[object, object]]

    @classmethod
    def read(cls, folder: Path) -> _Session:
        steps, decisions = read_steps(folder).steps, read_decisions(folder)[0]
        return cls(
            facts_of(steps),
            [step.to_json() for step in steps],
            {n: d for d in decisions if d.get("decision") in DECIDED for n in _calls(d)},
            noise(decisions),
        )

    def refuses(self, talk: Talk) -> str:
        """Why this memory step is not to be learned from, "" if it is."""
        if not speaks(talk):
            back = recurred(self.facts, talk.asked_at)
            return "a failure came back after its silence" if back else ""
        decision = self.by_call.get(talk.number)
        if decision is None:
            return "its decision is not on record"
        return of_reminder(decision, self.lines, self.marked)


def _calls(decision: Mapping[str, object]) -> Sequence[int]:
    model = decision.get("model")
    calls = model.get("calls") if isinstance(model, dict) else None
    return calls if isinstance(calls, list) else ()


def _by_labels(talk: Talk, run: Run | None) -> str:
    if run is None:
        return "nothing tells whether it was right"
    wanted = labelled(run, talk.asked_at + 1)
    if wanted is None:
        return "the labels say nothing here"
    return "" if wanted == speaks(talk) else "the labels say otherwise"
