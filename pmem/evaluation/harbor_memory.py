"""Memory beside a trial of Harbor: it thinks in a thread of its own, and is heard over the proxy.

Harbor runs many trials in one event loop, and a memory agent's model may take a while.
"""

from __future__ import annotations

import asyncio
import json
import os
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from pmem.agents.proxied import PROXIED
from pmem.core.event import UserMessage
from pmem.evaluation.live import Remembering, TrialMemory
from pmem.evaluation.played import CannotGoOn
from pmem.models.prices import NAME, load_prices
from pmem.proxy.memory import Memory
from pmem.proxy.routes import LOCAL
from pmem.proxy.server import Proxy
from pmem.proxy.start import Doors
from pmem.store.places import beside_config

#: What a reply tells; all else stands in a request.
_REPLIED = {"proposed", "finished"}
_T = TypeVar("_T")


class MemoryBroke(Exception):
    """Something in memory itself went wrong: the trial's reward says nothing."""


async def beside(how: Remembering, task: str) -> Beside:
    """A new trial's memory. Raises CannotGoOn or MemoryBroke."""
    with telling():
        return await asyncio.to_thread(Beside, how, task)


@contextmanager
def telling() -> Iterator[None]:
    """Lets through CannotGoOn; all else that goes wrong in memory is MemoryBroke."""
    try:
        yield
    except CannotGoOn:
        raise
    except Exception as error:
        raise MemoryBroke(f"{type(error).__name__}: {error}") from error


class Beside:
    """One trial's memory, for an event loop."""

    def __init__(self, how: Remembering, task: str) -> None:
        self.task = task
        prices = load_prices(beside_config(os.environ, NAME))
        self._thread = ThreadPoolExecutor(1, "pmem-memory")
        self._memory = memory = TrialMemory(how, task, os.environ, prices, "harbor")
        weakref.finalize(self, _end, self._thread, memory)

    async def ask(self, what: Callable[[TrialMemory], _T]) -> _T:
        """Let memory do something, after all that was asked before.

        Raises CannotGoOn or MemoryBroke.
        """
        loop = asyncio.get_running_loop()
        with telling():
            return await loop.run_in_executor(self._thread, what, self._memory)

    def write(self, path: Path) -> None:
        """Keep what memory decided and took so far, all of it or nothing."""
        memory = self._memory
        told = {
            "arm": memory.how.arm,
            "points": memory.points,
            "spoke": memory.spoke,
            "seconds": round(memory.seconds, 3),
            "took": asdict(memory.took),
            "calls": list(memory.calls),
            "decisions": list(memory.decisions),
        }
        new = path.with_suffix(".new")
        new.write_text(json.dumps(told, default=str), encoding="utf-8")
        new.replace(path)


def _end(thread: ThreadPoolExecutor, memory: TrialMemory) -> None:
    """Close the memory after what it may still be at; nobody waits for it."""
    try:
        thread.submit(memory.close)
    except RuntimeError:  # the interpreter ends, and the thread has
        with suppress(Exception):
            memory.close()
    thread.shutdown(wait=False)


class Ear:
    """Hears a trial's agent through the proxy. `broke` is set once memory cannot go on."""

    def __init__(self, beside: Beside) -> None:
        self._beside = beside
        self.broke: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def tell(self, lane: str | None, news: Sequence[Mapping[str, Any]]) -> str:
        """The note for the request that is under way; a reply gets none."""
        try:
            return await self._beside.ask(lambda memory: self._heard(memory, lane, news))
        except (CannotGoOn, MemoryBroke) as error:
            if not self.broke.done():
                self.broke.set_exception(error)
            return ""

    def _heard(
        self, memory: TrialMemory, lane: str | None, news: Sequence[Mapping[str, Any]]
    ) -> str:
        told = [one.get("event") for one in news]
        if not memory.calls and "observed" in told:
            memory.note(lane)  # one without tools: its first request could not be told for one
        payload = json.dumps({"lane": lane, "events": list(news)}).encode()
        for event in PROXIED.events(payload):
            # The agent's own words around the task: memory has the task itself.
            if not (isinstance(event, UserMessage) and self._beside.task.strip() in event.text):
                memory.hear(event, lane)
        return "" if set(told) <= _REPLIED else memory.note(lane)


class Door:
    """An address at which a trial's agent finds its model, with memory on the way.

    `reach` is the name by which the agent's environment knows this machine, "" for this machine
    itself. The address is there from the beginning; it answers while it is `open`.
    """

    def __init__(self, service: str, reach: str = "") -> None:
        """Raises ValueError with a sentence if the service's address is none."""
        self._doors = Doors(host="" if reach in LOCAL else reach)
        self._reach = reach
        self.address = self._doors.door(service)

    @asynccontextmanager
    async def open(
        self, ear: Ear, complain: Callable[[str], None], *, transient: bool
    ) -> AsyncIterator[None]:
        """Serve until the end of the block."""
        memory = Memory(ear, complain, transient=transient)
        proxy = Proxy(self._doors.routes, memory, self._reach)
        runner = await proxy.start(self._doors.socket.dup())
        try:
            yield
        finally:
            await runner.cleanup()
            await proxy.close()
