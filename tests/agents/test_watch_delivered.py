"""A watch that a model sets early fires late, asks no model, and is recorded as it is heard."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from pmem.agents.claude_hooks import ClaudeHooks
from pmem.agents.codex_hooks import CodexHooks
from pmem.agents.gemini_hooks import GeminiHooks
from pmem.core.event import SILENT
from pmem.memory.model.agent import ModelAgent
from pmem.memory.rules import Rules
from pmem.models.prices import load_prices
from pmem.models.scripted import ScriptedModel
from pmem.session.in_memory import BankInMemory, LogInMemory
from pmem.session.ledger import Ledger
from pmem.session.mind import Mind
from pmem.session.outside import Channel, Outside
from pmem.session.session import Session
from pmem.session.thinking import Thinking

FACT = "step 3: the branch is main; AGENTS.md has releases cut from stable"
KEEPS = {
    "phase": "manage",
    "contains": "step 3: command",
    "calls": [
        {
            "name": "memory_save_knowledge",
            "arguments": {"id": "stable", "content": FACT, "when": {"command": "make release*"}},
        }
    ],
}
MISSING = "fatal error: db.h: No such file or directory"
HOOKS = {"claude": ClaudeHooks, "codex": CodexHooks, "gemini": GeminiHooks}
#: What each agent calls the end of the user's prompt, a call before it runs, and after.
EVENTS = {
    "claude": ("UserPromptSubmit", "PreToolUse", "PostToolUse"),
    "codex": ("UserPromptSubmit", "PreToolUse", "PostToolUse"),
    "gemini": ("BeforeAgent", "BeforeTool", "AfterTool"),
}


@dataclass
class Agent:
    """An agent's hooks on a session with a model beside it; keeps what each hook printed."""

    name: str
    hold: str
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel([KEEPS]))
    log: LogInMemory = field(default_factory=LogInMemory)

    def __post_init__(self) -> None:
        self.hooks = HOOKS[self.name]()
        self.channel = Channel(f"hook:{self.name}", can_hold=True)
        thinking = Thinking(
            Mind(ModelAgent(self.model), sync=True, timeout=30.0), Ledger("scripted", load_prices())
        )
        self.session = Session(
            Outside(BankInMemory(), self.log, Rules(), thinking=thinking),
            id="20260102-030405-test",
            project="/p",
            interval=1000,
            hold=self.hold,
        )

    def hook(self, event: str, **rest: Any) -> dict[str, Any]:
        told = {"session_id": "s", "cwd": "/p", "hook_event_name": event, **rest}
        payload = json.dumps(told).encode()
        answer = SILENT
        for one in self.hooks.events(payload):
            latest = self.session.handle(one, self.channel)
            answer = latest if latest.reminder is not None else answer
        printed = self.hooks.answer(payload, answer)
        return dict(json.loads(printed)) if printed else {}

    def prompt(self, text: str) -> None:
        self.hook(EVENTS[self.name][0], prompt=text)

    def proposes(self, command: str, id: str) -> dict[str, Any]:
        return self.hook(EVENTS[self.name][1], **self._call(command, id))

    def ran(self, command: str, id: str, output: str = "", code: int = 0) -> dict[str, Any]:
        call = self._call(command, id)
        if self.name == "gemini":
            text = f"Output: {output or '(empty)'}" + (f"\nExit Code: {code}" if code else "")
            return self.hook("AfterTool", **call, tool_response={"llmContent": text})
        if self.name == "codex":
            return self.hook("PostToolUse", **call, tool_response=output)
        if code:
            return self.hook("PostToolUseFailure", **call, error=f"Exit code {code}\n{output}")
        response = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        return self.hook("PostToolUse", **call, tool_response=response)

    def _call(self, command: str, id: str) -> dict[str, Any]:
        tool = "run_shell_command" if self.name == "gemini" else "Bash"
        return {"tool_name": tool, "tool_input": {"command": command}, "tool_use_id": id}

    def reaches_step_30(self) -> None:
        """A prompt, a look, a failing build at which the watch is set, quiet work to step 29."""
        self.prompt("Ship it.")
        for n in range(2, 30):
            command = {2: "ls", 3: "make"}.get(n, f"touch f{n}")
            self.proposes(command, f"t{n}")
            self.ran(command, f"t{n}", *((MISSING, 2) if n == 3 else ()))
            if n == 3:
                assert "stable" in self.session.outside.bank.bank.entries
                self.asked = len(self.model.requests)
        assert self.session.steps_known == 29


def model_heard(printed: dict[str, Any]) -> str:
    """What of a hook's answer the model reads; a refusal counts, a line for the human does not."""
    specific = printed.get("hookSpecificOutput", {})
    texts = (
        specific.get("additionalContext"),
        specific.get("permissionDecisionReason"),
        printed.get("reason"),
    )
    return "\n".join(text for text in texts if text)


def denied(printed: dict[str, Any]) -> bool:
    specific = printed.get("hookSpecificOutput", {})
    return "deny" in (specific.get("permissionDecision"), printed.get("decision"))


@pytest.mark.parametrize("name", HOOKS)
def test_without_a_hold_it_is_heard_with_the_result(name: str) -> None:
    agent = Agent(name, hold="sure")
    agent.reaches_step_30()
    before = agent.proposes("make release", "t30")
    after = agent.ran("make release", "t30", "released")

    [record] = [d for d in agent.log.decisions if d["decision"] == "remind"]
    assert (record["reason"], record["before_step"]) == ("watch:stable", 30)
    assert (record["delivery"], record["hold"]) == ("with_result", False)
    assert record["channel"] == f"hook:{name}"
    assert not denied(before)
    heard = [FACT in model_heard(before), FACT in model_heard(after)]
    assert sum(heard) == 1  # Claude and Codex show a call's context with its result, Gemini has
    assert heard[1] == (name == "gemini")  # none there, so it waits for the result
    assert "model" not in record
    assert "make release" in record["proposed"]


@pytest.mark.parametrize("name", HOOKS)
def test_with_a_hold_it_is_heard_before_the_action_and_once(name: str) -> None:
    agent = Agent(name, hold="watch")
    agent.reaches_step_30()
    before = agent.proposes("make release", "t30")
    again = agent.proposes("make release", "t31")
    agent.ran("make release", "t31", "released")

    [record] = [d for d in agent.log.decisions if d["decision"] == "remind"]
    assert (record["reason"], record["delivery"], record["hold"]) == (
        "watch:stable",
        "before",
        True,
    )
    assert denied(before) and FACT in model_heard(before)
    assert not denied(again) and FACT not in model_heard(again)


@pytest.mark.parametrize("name", HOOKS)
def test_no_model_is_called_between_the_watch_and_its_reminder(name: str) -> None:
    agent = Agent(name, hold="sure")
    agent.reaches_step_30()
    agent.proposes("make release", "t30")
    assert [d["reason"] for d in agent.log.decisions if d["decision"] == "remind"]
    assert len(agent.model.requests) == agent.asked > 0
