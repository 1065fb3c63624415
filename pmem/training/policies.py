"""Policies: simple ways to earn a reward without being of use, and honest ones beside them.

`pmem train grpo --check` plays them all with the tools carried out: rewards under which a simple
one earns more than the honest ones teach nothing good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pmem.core.bank import Entry
from pmem.core.decision import Reminder, Trigger
from pmem.core.text import shorten
from pmem.evaluation.dataset import Run
from pmem.evaluation.replay import replay
from pmem.memory.model.tools import MAX_CALLS
from pmem.memory.rules import Rules
from pmem.training.calls import Call
from pmem.training.episode import Played, play
from pmem.training.played import answered, recorded_answers
from pmem.training.rewards import parts
from pmem.training.turns import Turn

Policy = Callable[[Turn], Played]

SILENT = Played(text="<no_intervention/>")


def say(text: str, entries: Sequence[str] = (), calls: Sequence[Call] = ()) -> Played:
    """A reminder, after some calls; without any the status is brought up to date."""
    cited = f' entries="{", ".join(entries)}"' if entries else ""
    first = tuple(calls) or (("memory_update_status", {"content": "at work"}),)
    return Played(first, answer=f"<context_for_action{cited}>{text}</context_for_action>")


def keep(id: str, content: str) -> Call:
    """A call that saves knowledge."""
    return "memory_save_knowledge", {"id": id, "content": content}


# --- simple ones ---------------------------------------------------------------------------------


def always_silent(turn: Turn) -> Played:
    """Never a call, never a word."""
    return SILENT


def always_speaking(turn: Turn) -> Played:
    """The newest entry of the bank, each time."""
    entry = _newest(turn)
    if entry is None:
        return say(shorten(turn.moment.task), ["task"], [keep("task", turn.moment.task)])
    return say(entry.content, [entry.id])


def after_each_failure(turn: Turn) -> Played:
    """The newest failed attempt, after each step that failed."""
    entry = _newest(turn, "failed")
    if turn.moment.trigger is not Trigger.FAILURE or entry is None:
        return SILENT
    return say(entry.content, [entry.id])


def copying_the_window(turn: Turn) -> Played:
    """What the steps before the last one printed, as much as fits a reminder."""
    seen = " ".join(step.observation for step in turn.moment.window[:-1])
    text = " ".join(seen.split()[-60:])
    return say(text, ["seen"], [keep("seen", text)]) if text else SILENT


def copying_it_all(turn: Turn) -> Played:
    """The whole window."""
    text = " ".join(f"{step.action} {step.observation}" for step in turn.moment.window)
    return say(text, ["seen"], [keep("seen", text)]) if text.strip() else SILENT


def repeating_itself(turn: Turn) -> Played:
    """The last reminder again, whoever gave it; else as `always_speaking`."""
    given = turn.moment.given
    if not given:
        return always_speaking(turn)
    return say(given[-1].text, ["again"], [keep("again", given[-1].text)])


def quoting_the_task(turn: Turn) -> Played:
    """The task, whole."""
    return say(turn.moment.task, ["task"], [keep("task", turn.moment.task)])


def making_things_up(turn: Turn) -> Played:
    """A cause that nothing shows, in confident words."""
    text = "The failure at step 1 came from config/settings_v2.yaml:417, which sets MAX_RETRY=99."
    return say(text, ["cause"], [keep("cause", text)])


def form_only(turn: Turn) -> Played:
    """Both phases as they should look, with nothing in them."""
    return say("…", calls=[keep("x", "…")])


def churning(turn: Turn) -> Played:
    """An entry saved, deleted and saved again, then silence."""
    calls = [keep("x", "noted"), ("memory_delete", {"id": "x"})] * 4
    return Played(tuple(calls), answer="<no_intervention/>")


def calling_and_calling(turn: Turn) -> Played:
    """As many calls as are carried out, then silence."""
    call = ("memory_update_status", {"content": "at work"})
    return Played((call,) * MAX_CALLS, answer="<no_intervention/>")


def stuffing_the_bank(turn: Turn) -> Played:
    """All that the window shows into the bank, then silence."""
    calls = [
        keep(f"step-{step.number}", f"{step.action}\n{step.observation}")
        for step in turn.moment.window
    ]
    return Played(tuple(calls), answer="<no_intervention/>") if calls else SILENT


def watching_everything(turn: Turn) -> Played:
    """Silence, and a watch on whatever comes."""
    entry = _newest(turn)
    content = entry.content if entry is not None else shorten(turn.moment.task)
    when = {"command": ["*a*", "*e*", "*i*", "*o*"], "times": 9}
    call = ("memory_save_knowledge", {"id": "watch", "content": content, "when": when})
    return Played((call,), answer="<no_intervention/>")


SIMPLE: Mapping[str, Policy] = {
    "always silent": always_silent,
    "always speaking": always_speaking,
    "after each failure": after_each_failure,
    "copying the window": copying_the_window,
    "copying all of it": copying_it_all,
    "the last reminder again": repeating_itself,
    "the whole task": quoting_the_task,
    "made-up facts": making_things_up,
    "form without content": form_only,
    "saving and deleting": churning,
    "call after call": calling_and_calling,
    "all into the bank": stuffing_the_bank,
    "a watch on everything": watching_everything,
}


# --- honest ones ---------------------------------------------------------------------------------


def the_rules(run: Run) -> Policy:
    """What the rules say in a replay; they see the proposed action, too."""
    result = replay(run.header, run.lines, Rules())
    said = {one.before_step: one.reminder for one in result.said}

    def policy(turn: Turn) -> Played:
        reminder = said.get(turn.before_step)
        return _worded(reminder, result.bank.entries, turn) if reminder is not None else SILENT

    return policy


def a_played_model(folder: Path, run: Run) -> Policy | None:
    """What a model answered that was asked over this run, None where none was."""
    answers = recorded_answers(folder, run)
    if not answers:
        return None

    def policy(turn: Turn) -> Played:
        answer = answers.get(turn.before_step - 1)
        if not answer:
            return SILENT
        calls, text = answered([answer])
        return Played(tuple(calls), answer=text) if calls else _after_status(text)

    return policy


def the_labels(turn: Turn) -> Played:
    """What the labels want: no policy, but what one could earn at most."""
    if not turn.wanted or not turn.about:
        return SILENT
    return say(turn.about, ["fact"], [keep("fact", turn.about)])


def _after_status(text: str) -> Played:
    return SILENT if text == SILENT.text else Played(say("").calls, answer=text)


def _worded(reminder: Reminder, known: Mapping[str, Entry], turn: Turn) -> Played:
    """A reminder of the rules, its entries saved first where the bank has them not yet."""
    calls: list[Call] = []
    for id in reminder.entries:
        entry = known.get(id)
        if entry is not None and turn.moment.bank.get(id) is None:
            name = f"memory_save_{entry.section}"
            outcome = {"outcome": entry.outcome} if entry.section == "procedural" else {}
            calls.append((name, {"id": id, "content": entry.content, **outcome}))
    return say(reminder.text, reminder.entries, calls)


def _newest(turn: Turn, outcome: str = "") -> Entry | None:
    found = (
        entry
        for entry in reversed(turn.moment.bank.entries.values())
        if not outcome or entry.outcome == outcome
    )
    return next(found, None)


# --- what they earn ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Earned:
    """What a policy earned over some turns: the mean reward and its parts, how often it spoke."""

    policy: str
    turns: int
    mean: float
    parts: Mapping[str, float]
    spoke: int
    honest: bool = False

    def to_json(self) -> dict[str, Any]:
        """As `pmem train grpo --check --json` tells it."""
        return {
            "turns": self.turns,
            "mean": round(self.mean, 3),
            "spoke": self.spoke,
            "honest": self.honest,
            "parts": {name: round(value, 3) for name, value in self.parts.items()},
        }


def earn(
    name: str,
    policy: Policy,
    turns: Sequence[Turn],
    weights: Mapping[str, float],
    *,
    honest: bool = False,
) -> Earned:
    """Play a policy over the turns of runs, in their order, with the tools carried out.

    Once it has told what a label wants, silence is right in the rest of the label's window.
    """
    told: set[tuple[str, str]] = set()
    sums: dict[str, float] = dict.fromkeys((n for n, w in weights.items() if w), 0.0)
    spoke = 0
    for turn in turns:
        key = (turn.run, turn.about)
        if turn.wanted and key in told:
            turn = replace(turn, wanted=False)
        episode = play(turn, policy(turn))
        given = parts(episode, weights)
        for part, value in given.items():
            sums[part] += value
        spoke += bool(episode.said)
        if turn.wanted and turn.about and given.get("agreement", -1.0) > 0:
            told.add(key)
    n = max(1, len(turns))
    means = {part: total / n for part, total in sums.items()}
    mean = sum(value * weights[part] for part, value in means.items())
    return Earned(name, len(turns), mean, means, spoke, honest)


def check(
    turns: Sequence[Turn], runs: Mapping[str, Run], folder: Path, weights: Mapping[str, float]
) -> dict[str, list[Earned]]:
    """What every policy earns: over all turns (`all`), and, where a model was played over some
    runs, over the turns of those (`played`)."""
    asked = {id: policy for id, run in runs.items() if (policy := a_played_model(folder, run))}
    ruled = {id: the_rules(run) for id, run in runs.items()}
    honest: dict[str, Policy] = {
        "the labels": the_labels,
        "the rules": lambda turn: ruled[turn.run](turn),
    }
    found = {"all": _earned(turns, honest, weights)}
    some = [turn for turn in turns if turn.run in asked]
    if some:
        honest["a played model"] = lambda turn: asked[turn.run](turn)
        found["played"] = _earned(some, honest, weights)
    return found


def _earned(
    turns: Sequence[Turn], honest: Mapping[str, Policy], weights: Mapping[str, float]
) -> list[Earned]:
    found = [earn(name, policy, turns, weights, honest=True) for name, policy in honest.items()]
    found += [earn(name, policy, turns, weights) for name, policy in SIMPLE.items()]
    return sorted(found, key=lambda one: -one.mean)
