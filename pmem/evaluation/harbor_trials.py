"""What Harbor left of its trials, as lines of a results folder. Reads files; needs no Harbor.

A trial of Harbor's is a directory: `result.json` once it is over, `agent/trajectory.json` (ATIF)
where its adapter writes one, and `agent/pmem.json` where memory ran.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pmem.evaluation.results import Config, Results, Took, Trial
from pmem.models.prices import Prices
from pmem.models.protocol import Usage

#: The job's directory in a results folder, and where the trajectories go.
JOB = "harbor"
TRAJECTORIES = "trajectories"
#: What memory did in a trial, among what Harbor keeps of the agent.
RECORD = "pmem.json"
#: What Harbor cannot go on with if a killed run left half of it; it writes each anew.
_JOB_FILES = ("config.json", "lock.json", "result.json")


def clean(folder: Path) -> int:
    """Make a job ready to go on: take away what is half written, and the trials that broke.

    How many of those there were. Harbor runs again what has no directory.
    """
    job = folder / JOB
    for name in _JOB_FILES:
        if _object(job / name) is None:
            (job / name).unlink(missing_ok=True)
    broken = 0
    for trial in _directories(job):
        result = _object(trial / "result.json")
        if result is None or not result.get("reward_valid"):
            broken += result is not None
            shutil.rmtree(trial)
    return broken


def collect(results: Results, prices: Prices) -> list[Trial]:
    """Write a line for each trial that is over and has none yet; those lines."""
    known = {trial.source for trial in results.trials}
    found = []
    for directory in _directories(results.folder / JOB):
        result = None if directory.name in known else _object(directory / "result.json")
        if result is None or not result.get("reward_valid"):
            continue
        record = _object(directory / "agent" / RECORD) or {}
        trial = _trial(results, directory, result, record, prices)
        _keep_trajectory(results.folder, directory, trial, record)
        results.add(trial, record.get("decisions") or ())
        found.append(trial)
    return found


def _trial(
    results: Results,
    directory: Path,
    result: Mapping[str, Any],
    record: Mapping[str, Any],
    prices: Prices,
) -> Trial:
    name = _name(result.get("task_id") or {}) or str(result.get("task_name"))
    taken = {trial.n for trial in results.trials if trial.task == name}
    steps = _agent_steps(_object(directory / "agent" / "trajectory.json"))
    rewards = (result.get("verifier_result") or {}).get("rewards") or {}
    raised = result.get("exception_info") or {}
    return Trial(
        "",
        name,
        next(n for n in range(len(taken) + 1) if n not in taken),
        float(rewards["reward"] if "reward" in rewards else min(rewards.values())),
        steps=len(steps) or int(record.get("points") or 0),
        points=int(record.get("points") or 0),
        spoke=int(record.get("spoke") or 0),
        seconds=round(_seconds(result), 3),
        memory_seconds=float(record.get("seconds") or 0.0),
        action=_took(result, len(steps), results.config, prices),
        memory=Took(**(record.get("took") or {})),
        error=str(raised.get("exception_type") or ""),
        source=directory.name,
    )


def _name(task: Mapping[str, Any]) -> str:
    """A task's name, as Harbor tells it of its id."""
    if "org" in task:
        return f"{task['org']}/{task['name']}"
    return Path(str(task.get("path") or "")).name


def _seconds(result: Mapping[str, Any]) -> float:
    began, ended = (datetime.fromisoformat(str(result[at])) for at in ("started_at", "finished_at"))
    return (ended - began).total_seconds()


def _took(result: Mapping[str, Any], calls: int, config: Config, prices: Prices) -> Took:
    """What the agent's model took, as the adapter told Harbor."""
    told = result.get("agent_result") or {}
    read, out, cached = (
        int(told.get(f"n_{what}_tokens") or 0) for what in ("input", "output", "cache")
    )
    usage = Usage(read - cached, out, cache_read=cached)
    money = prices.money(config.action_model, usage)
    if money is None:
        money = told.get("cost_usd") or (None if usage.tokens else 0.0)
    return Took(calls, read, out, cached, money)


def _keep_trajectory(
    folder: Path, directory: Path, trial: Trial, record: Mapping[str, Any]
) -> None:
    """The trial's trajectory with what memory decided, beside Harbor's own."""
    document = _object(directory / "agent" / "trajectory.json")
    if document is None:
        return
    place = folder / TRAJECTORIES
    place.mkdir(exist_ok=True)
    text = json.dumps(annotated(document, record), ensure_ascii=False, indent=1)
    (place / trial.file).with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def annotated(document: dict[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """An ATIF document whose agent steps have in `extra.pmem` the note that the call behind them
    was given, and what memory decided since the call before. Decisions after the last call are
    with the last step."""
    steps = _agent_steps(document)
    decisions = record.get("decisions") or []
    calls = [*(record.get("calls") or ()), ("", len(decisions))]
    before = 0
    for number, (note, until) in enumerate(calls):
        step = steps[min(number, len(steps) - 1)] if steps else None
        made, before = decisions[before:until], max(before, until)
        if step is None or not (note or made):
            continue
        own = (step.setdefault("extra", None) or {}).get("pmem") or {"decisions": []}
        own["decisions"] += made
        if note:
            own["note"] = "\n\n".join(filter(None, (own.get("note"), note)))
        step["extra"] = {**(step["extra"] or {}), "pmem": own}
    return document


def _agent_steps(document: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return [s for s in (document or {}).get("steps") or () if s.get("source") == "agent"]


def _directories(job: Path) -> Iterator[Path]:
    """The trials' directories, in the order in which they ended."""
    there = [path for path in job.iterdir() if path.is_dir()] if job.is_dir() else []
    ended = {path: path / "result.json" for path in there}
    yield from sorted(
        there, key=lambda p: (ended[p].stat().st_mtime if ended[p].exists() else 0.0, p.name)
    )


def _object(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
