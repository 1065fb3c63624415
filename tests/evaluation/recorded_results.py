"""Two results folders of one benchmark, off and selective, small enough to be reckoned by hand."""

from __future__ import annotations

from pathlib import Path

from pmem.evaluation.results import Config, Results, Took, Trial, begin

TASKS = {"airline": ["0", "1", "2", "3"], "retail": ["0", "1", "2", "3", "4", "5"]}
#: Which trials were solved, by arm and domain, in the order of the tasks.
SOLVED = {
    "off": {"airline": "1100", "retail": "100100"},
    "selective": {"airline": "1110", "retail": "011110"},
}


def config(arm: str) -> Config:
    return Config(
        benchmark="tau2",
        arm=arm,
        pure=arm == "selective",
        action_model="openrouter/anthropic/claude-sonnet-4.5",
        memory_model="" if arm == "off" else "anthropic:claude-opus-4-6",
        interval=1,
        tasks=TASKS,
    )


def trials(arm: str) -> list[Trial]:
    memory = Took() if arm == "off" else Took(20, 80_000, 4_000, 60_000, 0.25)
    return [
        Trial(
            domain,
            task,
            0,
            float(mark),
            steps=10,
            points=0 if arm == "off" else 10,
            spoke=0 if arm == "off" else 1 + (domain == "retail"),
            seconds=60.0,
            memory_seconds=0.0 if arm == "off" else 12.5,
            action=Took(11, 90_000, 2_000, 50_000, 0.30),
            memory=memory,
        )
        for domain, marks in SOLVED[arm].items()
        for task, mark in zip(TASKS[domain], marks, strict=True)
    ]


def recorded(folder: Path, arm: str) -> Results:
    """The folder of an arm, written as a run writes it."""
    results = begin(folder / arm, config(arm), {"tau2": "26.3"})
    for trial in trials(arm):
        results.add(trial, [{"decision": "silence", "reason": "nothing bears on it"}])
    return results
