"""Starts mini-swe-agent with pmem between it, its model and its environment.

Run by the agent's own interpreter as `python mini_start.py PROGRAM ARGS…`, so it stands on the
standard library alone. The objects that mini makes, of whatever class its user chose, get two
methods wrapped: `execute` tells each command before and after it ran, `query` adds a reminder to
one request, which no trajectory keeps. On any trouble mini runs as it is.
"""

import contextlib
import importlib
import json
import os
import runpy
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

AGENT = "mini-swe-agent"
#: Seconds a transfer may take.
LIMIT = 0.5
#: What mini notes beside words of the user's.
THEIRS = frozenset({"UserInterruption", "UserRejection", "UserNewTask"})


def ask(told: dict[str, Any]) -> dict[str, Any]:
    """The session's answer, {} for silence and on any trouble."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            waits = os.environ.get("PMEM_WAIT") or os.environ.get("PMEM_PATIENCE")
            link.settimeout(float(waits or LIMIT))
            link.connect(os.environ["PMEM_SOCK"])
            head = f"pmem1 {os.environ['PMEM_TOKEN']} {AGENT}\n"
            link.sendall((head + json.dumps(told)).encode("utf-8", "replace"))
            link.shutdown(socket.SHUT_WR)
            answer = b""
            while part := link.recv(65536):
                answer += part
        found = json.loads(answer) if answer else {}
        return found if isinstance(found, dict) else {}
    except Exception:
        return {}


class Between:
    """What stands between one mini and its model and environment."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._seen = 0
        self._calls = 0

    def tell(self, event: str, **rest: Any) -> dict[str, Any]:
        """Tell one event; a reminder waits for the next request, a banner is shown at once."""
        answer = ask({"event": event, "session": str(os.getpid()), **rest})
        if answer.get("banner") and sys.stderr.isatty():
            print(answer["banner"], file=sys.stderr, flush=True)
        if answer.get("reminder") and not answer.get("hold") and event != "finished":
            self._waiting.append(answer["reminder"])
        return answer

    def agent(self, agent: Any) -> Any:
        """The agent, telling its task and its end."""
        run = agent.run

        def told(task: str = "", **rest: Any) -> Any:
            self.tell("user", text=task)
            result = run(task, **rest)
            message = result.get("submission") if isinstance(result, dict) else ""
            self.tell("finished", message=str(message or ""))
            return result

        agent.run = told
        return agent

    def model(self, model: Any) -> Any:
        """The model, reading a reminder in one request alone."""
        query = model.query

        def told(messages: Any, **rest: Any) -> Any:
            with contextlib.suppress(Exception):
                messages = self._with_reminders(model, messages)
            return query(messages, **rest)

        model.query = told
        return model

    def _with_reminders(self, model: Any, messages: list[Any]) -> list[Any]:
        new, self._seen = messages[self._seen :], len(messages)
        for message in new:
            if (message.get("extra") or {}).get("interrupt_type") in THEIRS:
                self.tell("user", text=str(message.get("content") or ""))
        if not self._waiting:
            return messages
        text, self._waiting = "\n\n".join(self._waiting), []
        return [*messages, model.format_message(role="user", content=text)]

    def environment(self, environment: Any) -> Any:
        """The environment, telling each command before and after it ran."""
        execute = environment.execute

        def told(action: Any, *args: Any, **rest: Any) -> Any:
            call = self._call(environment, action, args, rest)
            answer = self.tell("proposed", **call)
            if answer.get("hold"):
                why = "action was not executed"
                return {"output": answer["reminder"], "returncode": -1, "exception_info": why}
            began = time.monotonic()
            try:
                output = execute(action, *args, **rest)
            except BaseException as stop:
                self.tell("observed", **call, **_stopped(stop), seconds=time.monotonic() - began)
                raise
            with contextlib.suppress(Exception):
                took = time.monotonic() - began
                self.tell("observed", **call, **_result(output), seconds=took)
            return output

        environment.execute = told
        return environment

    def _call(self, environment: Any, action: Any, args: Any, rest: Any) -> dict[str, Any]:
        given = action if isinstance(action, dict) else {"command": str(action)}
        self._calls += 1
        cwd = (args[0] if args else rest.get("cwd")) or getattr(environment.config, "cwd", "")
        return {
            "tool": "bash",
            "id": str(given.get("tool_call_id") or f"call-{self._calls}"),
            "args": {"command": str(given.get("command") or "")},
            "cwd": str(cwd or Path.cwd()),
        }


def _result(output: dict[str, Any]) -> dict[str, Any]:
    seen, code = str(output.get("output") or ""), output.get("returncode")
    if trouble := output.get("exception_info"):
        return {"output": f"{seen}\n{trouble}".strip(), "is_error": True}
    return {"output": seen, "exit_code": code}


def _stopped(stop: BaseException) -> dict[str, Any]:
    """mini ends its task by an exception, as soon as a command says so and passes."""
    if type(stop).__name__ == "Submitted":
        return {"exit_code": 0}
    if isinstance(stop, KeyboardInterrupt):
        return {"refused": True}
    return {"output": str(stop), "is_error": True}


def stand_between() -> None:
    """Wrap what mini makes: its own modules look these functions up when they are imported."""
    between = Between()

    def wrap(module: str, name: str, around: Callable[[Any], Any]) -> None:
        found = importlib.import_module(f"minisweagent.{module}")
        make = getattr(found, name)

        def made(*args: Any, **rest: Any) -> Any:
            one = make(*args, **rest)
            with contextlib.suppress(Exception):
                return around(one)
            return one

        setattr(found, name, made)

    wrap("models", "get_model", between.model)
    wrap("environments", "get_environment", between.environment)
    wrap("agents", "get_agent", between.agent)


def main() -> None:
    """Run the program as its interpreter would have."""
    here = Path(__file__).resolve().parent
    sys.argv = sys.argv[1:]
    program = Path(sys.argv[0]).resolve()
    if sys.path and Path(sys.path[0]) == here:
        sys.path[0] = str(program.parent)
    if os.environ.get("PMEM_SOCK"):
        with contextlib.suppress(Exception):
            stand_between()
    runpy.run_path(str(program), run_name="__main__")


if __name__ == "__main__":
    main()
