"""Agents of Harbor with a memory of their own for each trial. Imported by Harbor alone.

    harbor run … --agent pmem.evaluation.harbor_agents:Terminus2 --ak arm=selective \\
        --ak memory_model=anthropic:claude-opus-4-6
    harbor run … --agent pmem.evaluation.harbor_agents:mini-swe-agent --ak arm=rules

The first is Terminus 2 with memory inside. The second is any adapter of Harbor's by its name,
unmodified: its model's traffic goes through pmem's proxy. Both leave `pmem.json` beside what Harbor
keeps of the agent.
"""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.agents.factory import AgentFactory
from harbor.agents.terminus_2 import Terminus2 as HarborTerminus2
from harbor.models.trial.config import AgentConfig

from pmem.core.event import Finished
from pmem.core.step import Action
from pmem.evaluation.harbor_memory import Beside, Door, Ear, beside
from pmem.evaluation.harbor_trials import RECORD
from pmem.evaluation.live import Remembering

#: Options of ours among an agent's (`--ak`), and the field of Remembering that each sets.
OURS = {
    "arm": "arm",
    "memory_model": "model",
    "memory_url": "base_url",
    "memory_temperature": "temperature",
    "pure": "pure",
    "interval": "interval",
    "window": "window",
    "embedder": "embedder",
    "embedder_url": "embedder_url",
}
#: As above, for a door: how the environment knows this machine.
REACH = "reach"
#: How long an agent that is stopped is waited for, in seconds.
_LETTING_GO = 10.0


class Remembered(BaseAgent):  # type: ignore[misc]
    """Takes our options out of an agent's, and keeps what its memory did."""

    how: Remembering
    beside: Beside | None = None

    @classmethod
    def parse_options(cls, kwargs: Any = None, env: Any = None) -> Any:
        """As the agent itself, which does not know our options."""
        theirs = {k: v for k, v in (kwargs or {}).items() if k not in (*OURS, REACH)}
        return super().parse_options(theirs, env)

    async def remembering(self, task: str) -> Beside:
        """The trial's memory: made with its task, which further steps only add to."""
        if self.beside is None:
            self.beside = await beside(self.how, task)
        else:
            await self.beside.ask(lambda memory: memory.user(task))
        return self.beside

    def keep(self) -> None:
        """Write down what memory did so far."""
        if self.beside is not None:
            self.beside.write(Path(self.logs_dir) / RECORD)


def taken(kwargs: dict[str, Any]) -> Remembering:
    """Our options, taken out of an agent's. Without an arm there is no memory."""
    given = {ours: kwargs.pop(name) for name, ours in OURS.items() if name in kwargs}
    return Remembering(**{"arm": "off", **given})


class Terminus2(Remembered, HarborTerminus2):  # type: ignore[misc]
    """Terminus 2 with a memory: each batch of keystrokes with what the terminal showed is a step.

    A note stands at the end of the prompt it belongs to, and is taken out of the conversation
    after the reply; in the paper's own form (`pure`) it stays there, as in the paper's code.
    """

    _thought = ""
    _finished = False

    def __init__(self, **kwargs: Any) -> None:
        self.how = taken(kwargs)
        super().__init__(**kwargs)

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        """Run the task with memory beside it."""
        await self.remembering(instruction)
        try:
            await super().run(instruction, environment, context)
        finally:
            self.keep()

    async def _query_llm(
        self, chat: Any, prompt: str, original_instruction: str = "", session: Any = None
    ) -> Any:
        assert self.beside is not None
        if self._finished:
            said, self._finished = self._thought, False
            await self.beside.ask(lambda memory: memory.hear(Finished(said)))
        note = await self.beside.ask(lambda memory: memory.note())
        told = f"{prompt}\n\n{note}" if note else prompt
        answer = await super()._query_llm(chat, told, original_instruction, session)
        if note and not self.how.pure:
            for message in reversed(chat.messages):
                if message.get("content") == told:
                    message["content"] = prompt
                    chat.reset_response_chain()  # the service would remember it
                    break
        self.keep()
        return answer

    async def _handle_llm_interaction(self, *args: Any, **kwargs: Any) -> Any:
        answer = await super()._handle_llm_interaction(*args, **kwargs)
        _, self._finished, _, analysis, plan, _ = answer
        self._thought = "\n".join(filter(None, (analysis, plan)))
        return answer

    async def _execute_commands(self, commands: Any, session: Any) -> Any:
        timed_out, output = await super()._execute_commands(commands, session)
        keys = "\n".join(c.keystrokes.strip("\n") for c in commands if c.keystrokes.strip())
        if commands and self.beside is not None:
            action = Action("command" if keys else "tool", keys or "(waits)", tool="terminal")
            thought = self._thought
            await self.beside.ask(
                lambda memory: memory.acted(action, output.rstrip(), thought=thought)
            )
        return timed_out, output


@cache
def through_proxy(adapter: type[Any]) -> type[Any]:
    """An adapter of Harbor's whose model is reached through the proxy, with memory on the wire.

    Nothing of the adapter is changed but its base URL. Raises ValueError where it has none.
    """
    if not adapter.capabilities.base_url:
        raise ValueError(f"Harbor's {adapter.name()} has no base URL, so no proxy can be put in")

    class ThroughProxy(Remembered, adapter):  # type: ignore[misc]
        def __init__(self, **kwargs: Any) -> None:
            self.how = taken(kwargs)
            reach = str(kwargs.pop(REACH, ""))
            plain = adapter(**kwargs).model_connection
            service = plain.execution_base_url or plain.inferred_base_url
            if not service:
                model = kwargs.get("model_name")
                raise ValueError(f"it is not known where {model} is served; give --base-url")
            self._door = Door(service, reach)
            super().__init__(**{**kwargs, "base_url": self._door.address})

        async def run(self, instruction: str, environment: Any, context: Any) -> None:
            """Run the task while the proxy serves."""
            ear = Ear(await self.remembering(instruction))
            complain = self.logger.warning
            async with self._door.open(ear, complain, transient=not self.how.pure):
                work = asyncio.ensure_future(super().run(instruction, environment, context))
                try:
                    await asyncio.wait((work, ear.broke), return_when=asyncio.FIRST_COMPLETED)
                    if ear.broke.done():
                        ear.broke.result()
                    await work
                finally:
                    work.cancel()
                    await asyncio.wait((work,), timeout=_LETTING_GO)
                    self.keep()

    ThroughProxy.__name__ = ThroughProxy.__qualname__ = f"ThroughProxy{adapter.__name__}"
    return ThroughProxy


def __getattr__(name: str) -> Any:
    """`mini-swe-agent`, or `module.path:Class`: that agent through the proxy."""
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return through_proxy(AgentFactory.get_agent_class_from_config(AgentConfig(name=name)))
    except ValueError as error:
        raise AttributeError(str(error)) from error
