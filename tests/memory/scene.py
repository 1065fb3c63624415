"""A scene: steps played one by one into history, bank and window, as a session does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pmem.core.bank import MemoryBank, RecordAttempt
from pmem.core.decision import Decision, Reminder, Trigger
from pmem.core.history import History
from pmem.core.moment import Changed, Moment
from pmem.core.place import place
from pmem.core.step import Action, Step
from pmem.core.trajectory import Trajectory
from pmem.memory.rules import Rules

PROJECT = "/home/kim/shop"


class Scene:
    """What happened so far; `proposes` asks the rules about the next action."""

    def __init__(
        self,
        task: str = "Make the shop work.",
        *,
        rules: Rules | None = None,
        bank: MemoryBank | None = None,
        session: str = "20261201-100000-test",
        files: Changed | Callable[[float], Changed] = Changed.NO,
        **rule_files: str,
    ) -> None:
        self.rules = rules or Rules()
        self.bank = bank or MemoryBank()
        self.history = History()
        self.trajectory = Trajectory(task=task)
        self.task = task
        self.session = session
        self.rule_files = [(name.replace("_", "."), text) for name, text in rule_files.items()]
        self.files = files if callable(files) else lambda since: files
        self.number = 0
        self.manage(Trigger.FIRST_STEP)

    def ran(
        self, command: str, output: str = "", code: int | None = 0, cwd: str = PROJECT
    ) -> Scene:
        """A command with its output and exit code."""
        return self.step(Step(0, "command", command, output, exit_code=code, cwd=cwd))

    def edited(self, path: str = "src/app.js", observation: str = "updated") -> Scene:
        """An edit by the agent's own tool."""
        failed = observation.startswith("Error")
        return self.step(Step(0, "edit", f"Edit {path}", observation, is_error=failed))

    def read(self, path: str = "src/app.js", text: str = "…") -> Scene:
        """A file read by the agent's own tool."""
        return self.step(Step(0, "read", f"Read {path}", text))

    def said(self, text: str) -> Scene:
        """A message of the user."""
        return self.step(Step(0, "user", "", text))

    def step(self, step: Step) -> Scene:
        """Any step; it is numbered, and takes one second."""
        self.number += 1
        step = replace(step, number=self.number, started=1000.0 + self.number, seconds=0.5)
        facts = self.history.observe(step)
        self.trajectory.append(step)
        if step.kind == "command" and not step.refused:
            self.bank.apply(
                RecordAttempt(
                    facts.normal,
                    place(facts.cwd, PROJECT),
                    facts.failed,
                    step.exit_code,
                    facts.failure,
                    step.observation[-200:],
                    step.number,
                    self.session,
                )
            )
        trigger = Trigger.FAILURE if facts.failed else Trigger.INTERVAL
        self.manage(Trigger.USER_MESSAGE if step.kind == "user" else trigger)
        return self

    def manage(self, trigger: Trigger) -> None:
        """Phase 1, applied."""
        for op in self.rules.manage(self.moment(trigger)):
            self.bank.apply(op)

    def moment(self, trigger: Trigger, proposed: Action | None = None) -> Moment:
        """What the rules may look at."""
        return Moment(
            trigger=trigger,
            task=self.task,
            window=self.trajectory.window(8),
            bank=self.bank,
            history=self.history,
            proposed=proposed,
            rules_files=self.rule_files,
            user_messages=self.trajectory.user_messages,
            project=PROJECT,
            session=self.session,
            changed_since=self.files,
        )

    def proposes(self, command: str, cwd: str = PROJECT) -> Decision:
        """What the rules say to a command about to run."""
        action = Action("command", command, cwd)
        return self.rules.decide(self.moment(Trigger.PROPOSED, action))

    def proposes_edit(self, text: str) -> Decision:
        """What the rules say to an edit about to be made."""
        action = Action("edit", text, PROJECT)
        return self.rules.decide(self.moment(Trigger.PROPOSED, action))

    def after(self, trigger: Trigger) -> Decision:
        """What the rules say after the newest step."""
        return self.rules.decide(self.moment(trigger))


def spoken(decision: Decision, scene: Scene) -> Reminder:
    """The reminder; it must cite entries that exist and fit into the limits."""
    assert isinstance(decision, Reminder), decision
    assert decision.entries and all(scene.bank.get(id) for id in decision.entries)
    assert len(decision.text.split()) <= 60 and len(decision.text) <= 400, decision.text
    return decision


def silent(decision: Decision) -> bool:
    """Whether nothing is said."""
    return not isinstance(decision, Reminder)
