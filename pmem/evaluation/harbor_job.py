"""A run on Harbor: its job's configuration, the tasks, and its own job runner with our ear at it.

Imports Harbor, late: `dataset`, `counted` and `job` can be used without it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from pmem.evaluation.harbor_trials import JOB, collect
from pmem.evaluation.results import Config, Results, load
from pmem.evaluation.tau2_bench import litellm_name
from pmem.models.prices import NAME, load_prices
from pmem.store.places import beside_config

#: Terminal-Bench 2.0, as Harbor's registry names it.
DATASET = "terminal-bench@2.0"
#: How many tasks it has.
TASKS = 89
#: So many broken trials on end, and the run stops.
IN_A_ROW = 3
_INTERRUPTED = 130
AGENTS = "pmem.evaluation.harbor_agents"
#: To be set before Harbor is imported: no word to its makers, no price list from the network.
SWITCHES = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
#: A trial in which memory failed says nothing: neither graded nor counted, and run again.
_SAYS_NOTHING = {"should_retry": False, "should_grade": False, "has_valid_reward": False}
_OURS = ("CannotGoOn", "MemoryBroke")


class Stopped(Exception):
    """The run was ended before its end. Says why."""


@dataclass(frozen=True)
class Agent:
    """Who plays. Without a `name` it is Terminus 2 with memory inside, and `parser` ("xml", as the
    paper had it, or "json") is its; else that adapter of Harbor's, through the proxy, by which
    environments reach this machine under the name `reach`. `minutes` is None for the task's own.
    """

    name: str = ""
    parser: str = "xml"
    minutes: float | None = None
    reach: str = ""


def dataset(path: Path | None, patterns: Sequence[str]) -> dict[str, Any]:
    """What is run, as Harbor has it: a task's directory, a directory of tasks, or DATASET."""
    if path is not None and (path / "task.toml").is_file():
        return {"tasks": [{"path": os.fspath(path)}]}
    name, _, version = DATASET.partition("@")
    which: dict[str, Any] = {"path": os.fspath(path)} if path else {"name": name}
    if not path:
        which["version"] = version
    return {"datasets": [{**which, "task_names": list(patterns) or None}]}


def counted(path: Path | None, patterns: Sequence[str]) -> list[str]:
    """As many names as there are tasks, without asking Harbor's registry: for a price."""
    if path is not None and not (path / "task.toml").is_file():
        found = sorted(file.parent.name for file in path.glob("*/task.toml"))
        return [n for n in found if not patterns or any(fnmatch(n, p) for p in patterns)]
    if path is not None:
        return [path.name]
    plain = patterns and not any(sign in p for p in patterns for sign in "*?[")
    return list(patterns) if plain else [str(n) for n in range(TASKS)]


def task_names(what: dict[str, Any]) -> list[str]:
    """The tasks that `dataset` stands for, in Harbor's order; asks its registry if need be.

    Raises ValueError with a sentence where there are none.
    """
    from harbor.job_plan import JobPlan
    from harbor.models.job.config import JobConfig

    try:
        found = asyncio.run(JobPlan.resolve_task_configs(JobConfig(**what)))
    except Exception as error:  # of the registry's client, of the network: any class there is
        raise ValueError(f"Harbor cannot tell the tasks: {error}") from error
    names = [task.get_task_id().get_name() for task in found]
    if not names:
        raise ValueError("there is no such task")
    return names


def job(config: Config, folder: Path, what: dict[str, Any], agent: Agent, urls: Any) -> Any:
    """The configuration of Harbor's job for a run."""
    played: dict[str, Any] = {"model_name": litellm_name(config.action_model)}
    if agent.minutes is not None:
        played["override_timeout_sec"] = agent.minutes * 60
    options: dict[str, Any] = {}
    if not agent.name or config.arm != "off":
        options = {
            "arm": config.arm,
            "memory_model": config.memory_model,
            "memory_temperature": config.memory_temperature,
            "pure": config.pure,
            "interval": config.interval,
            "window": config.window,
            "embedder": str(config.extra.get("embedder", "")),
            **urls,
        }
    if not agent.name:
        options |= {
            "parser_name": agent.parser,
            "max_turns": config.turns,
            "suppress_max_turns_warning": True,
            "temperature": config.action_temperature,
        }
    elif config.arm != "off":
        options["reach"] = agent.reach
    name = agent.name if agent.name and config.arm == "off" else ""
    played["kwargs"] = options
    played["name" if name else "import_path"] = name or f"{AGENTS}:{agent.name or 'Terminus2'}"
    return {
        "job_name": JOB,
        "jobs_dir": os.fspath(folder),
        "n_attempts": config.k,
        "agents": [played],
        "override_error_policy": dict.fromkeys(_OURS, _SAYS_NOTHING),
        **what,
    }


def check(agent: Agent, arm: str) -> None:
    """Raises ValueError with a sentence where Harbor has no such agent, or no way to lead it."""
    if not agent.name:
        return
    from harbor.agents.factory import AgentFactory
    from harbor.agents.installed.base import BaseInstalledAgent
    from harbor.models.trial.config import AgentConfig

    from pmem.evaluation.harbor_agents import through_proxy

    try:
        adapter = AgentFactory.get_agent_class_from_config(AgentConfig(name=agent.name))
    except ValueError as error:
        raise ValueError(
            f"Harbor has no agent {agent.name}; harbor run --help lists them"
        ) from error
    if arm == "off":
        return
    through_proxy(adapter)
    if issubclass(adapter, BaseInstalledAgent) and not agent.reach:
        raise ValueError(
            f"{agent.name} runs inside the environment: say by which name that reaches this"
            " machine (--reach HOST), for pmem's proxy is here"
        )


def run(results: Results, told: dict[str, Any], given: Sequence[str]) -> None:
    """Run what is missing with Harbor's own runner; a line is written as each trial ends.

    `given` are further words for `harbor run`. Raises Stopped, or KeyboardInterrupt.
    """
    import click
    from harbor.cli.main import app

    config = results.folder / "harbor.json"
    config.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    words = ["run", "--config", os.fspath(config), "--plugin", f"{__name__}:Lines"]
    words += ["--plugin-kwarg", f"folder={json.dumps(os.fspath(results.folder))}", *given]
    code: Any = 0
    try:
        code = app(words, standalone_mode=False)
    except SystemExit as end:
        code = end.code
    except (click.Abort, asyncio.CancelledError):
        raise KeyboardInterrupt from None
    except BaseExceptionGroup as errors:
        raise Stopped(str(_first(errors))) from errors
    except Exception as error:
        raise Stopped(f"Harbor: {error}") from error
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    if isinstance(code, int | str) and code:
        raise Stopped(f"Harbor ended with {code}")


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    """Why a run ended: our own word for it, else the first error."""
    found: BaseException = errors.subgroup(Stopped) or errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


class Lines:
    """Harbor's plugin: a trial that is over becomes a line, and a hopeless run stops."""

    def __init__(self, folder: str) -> None:
        self._results = load(Path(folder))
        self._prices = load_prices(beside_config(os.environ, NAME))
        self._row = 0

    async def on_job_start(self, job: Any) -> None:
        """Hear of each trial's end."""
        job.on_trial_ended(self._ended)

    async def on_job_end(self, job_result: Any) -> None:
        """The lines are there."""

    async def _ended(self, event: Any) -> None:
        collect(self._results, self._prices)
        if event.result.reward_valid:
            self._row = 0
            return
        raised = event.result.recorded_exceptions()
        kind = raised[0].exception_type if raised else "no reward"
        if kind == "CancelledError":
            return
        self._row += 1
        why = f"{kind}: {raised[0].exception_message[:300]}" if raised else kind
        if kind in _OURS:
            raise Stopped(why)
        if self._row == IN_A_ROW:
            raise Stopped(f"{IN_A_ROW} trials in a row broke, the last with {why}")
