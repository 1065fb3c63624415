"""ATIF v1.8, Harbor's trajectory format (RFC 0001): one document, pmem's own data in `extra`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pmem import __version__
from pmem.core.step import ACTING_KINDS, Step
from pmem.review.exports.run import Run

SCHEMA = "ATIF-v1.8"
#: Recorded reasoning, as opposed to what was said, begins so.
THINKING = "(thinking)"
#: What of a decision goes along.
_TOLD = (
    "trigger", "decision", "text", "verdict", "candidate", "reason", "delivery", "channel",
    "audience", "hold", "entries", "cited", "ms", "model",
)  # fmt: skip


def document(run: Run) -> dict[str, Any]:
    """The trajectory. Each step is one of ours; `source` is who it came from."""
    taken: set[str] = set()
    steps = [_step(step, decisions, taken) for step, decisions in run.told()]
    first = next((s for s in run.steps if s.kind == "user"), None)
    if run.task and (first is None or first is not run.steps[0]):
        steps.insert(0, {"source": "user", "message": run.task, "extra": {"pmem": {"task": True}}})
    if not steps:
        steps.append({"source": "user", "message": run.task})
    for number, step in enumerate(steps, start=1):
        step["step_id"] = number
    agent = {"name": run.agent, "version": str(run.header.get("agent_version") or "unknown")}
    if run.header.get("model"):
        agent["model_name"] = str(run.header["model"])
    return {
        "schema_version": SCHEMA,
        "session_id": run.id,
        "agent": agent,
        "steps": [{"step_id": step.pop("step_id"), **step} for step in steps],
        "notes": f"Recorded by pmem {__version__}; what its memory decided is in extra.pmem.",
        "final_metrics": {"total_steps": len(steps)},
    }


def _step(step: Step, decisions: Sequence[Mapping[str, Any]], taken: set[str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if step.started is not None:
        made["timestamp"] = datetime.fromtimestamp(step.started, UTC).isoformat()
    if step.kind == "user":
        made |= {"source": "user", "message": step.observation}
    elif step.kind in ACTING_KINDS:
        made |= _acted(step, taken)
    elif step.kind == "message":
        made |= {"source": "agent", "message": step.action or step.observation}
    else:
        made |= {"source": "system", "message": step.observation or step.action}
    own: dict[str, Any] = {"step": step.number, "kind": step.kind}
    for name in ("cwd", "seconds", "agent_id", "turn"):
        if getattr(step, name) is not None:
            own[name] = getattr(step, name)
    if decisions:
        own["decisions"] = [{k: d[k] for k in _TOLD if k in d} for d in decisions]
    return {**made, "extra": {"pmem": own}}


def _acted(step: Step, taken: set[str]) -> dict[str, Any]:
    id = step.call_id or f"step-{step.number}"
    while id in taken:
        id = f"{id}-{step.number}"
    taken.add(id)
    command = step.kind == "command"
    call: dict[str, Any] = {
        "tool_call_id": id,
        "function_name": step.tool or ("bash" if command else step.kind),
        "arguments": {"command" if command else "text": step.action},
    }
    ended = {name: getattr(step, name) for name in ("exit_code", "is_error", "refused")}
    ended = {name: value for name, value in ended.items() if value is not None and value != ""}
    if not step.refused:
        ended.pop("refused")
    if ended:
        call["extra"] = ended
    made: dict[str, Any] = {
        "source": "agent",
        "message": step.thought,
        "tool_calls": [call],
        "observation": {"results": [{"source_call_id": id, "content": step.observation}]},
    }
    if step.thought.startswith(THINKING):
        made |= {"message": "", "reasoning_content": step.thought.removeprefix(THINKING).strip()}
    return made
