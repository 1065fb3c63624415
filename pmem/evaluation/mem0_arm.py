"""Mem0 as the memory of a trial, as in the paper's ablation (arXiv:2607.08716).

What Mem0 extracts of each step is added to a store of its own, and what it finds for the newest
step, at most ten memories, always goes to the agent. Store and history lie in a private directory
that ends with the trial; Mem0's telemetry, and what it asks the network besides, is switched off.
Needs `mem0ai` (the extra `mem0`), of which nothing is imported before `version` is asked.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmem.core.bank import BankOp
from pmem.core.decision import Decision, Reminder, Silence
from pmem.core.moment import Moment
from pmem.core.step import Step
from pmem.core.trajectory import cut_middle
from pmem.evaluation.played import CannotGoOn
from pmem.extra import how_to_install
from pmem.memory.model.agent import Exchange
from pmem.models.openai import KEY, OWN_ENDPOINT
from pmem.models.protocol import ChatModel, Message, ModelError, Reply, Request
from pmem.models.trouble import from_sdk
from pmem.session.ledger import Ledger

#: So many memories are found for a step: the paper's number.
TOP = 10
#: The embedder where none is named, which is Mem0's own, and the temperature of its model.
EMBEDDER = "openai:text-embedding-3-small"
TEMPERATURE = 0.1
#: Characters of a step that are added, and that are searched for; embedders take about so many.
_ADDED, _SEARCHED = 12_000, 4000
_OWN = {"run_id": "trial"}


class NoMem0(ValueError):
    """Mem0 cannot be imported. Says what to install."""


def version() -> str:
    """The installed version. Raises NoMem0."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("mem0ai")
    except PackageNotFoundError:
        raise NoMem0(
            f"the arm mem0 needs the package mem0ai; install it: {how_to_install('mem0', 'mem0ai')}"
        ) from None


class Mem0:
    """A memory agent that keeps and finds with Mem0; close it, and nothing of it is left on disk.

    `model` is the memory agent's, asked by Mem0 for what is worth keeping; `embedder` is named
    `openai:NAME` and may be any behind `POST /embeddings`. A call of the model that fails means
    that one step is not kept.
    """

    name = "mem0"

    def __init__(
        self,
        model: ChatModel,
        embedder: str,
        env: Mapping[str, str],
        *,
        embedder_url: str = "",
        ledger: Ledger,
        timeout: float = 60.0,
    ) -> None:
        """Raises NoMem0, ValueError for another kind of embedder, CannotGoOn if it is no use."""
        version()
        kind, _, name = embedder.partition(":")
        if kind != "openai" or not name:
            raise ValueError(f"there is no embedder {embedder!r}; one is named openai:NAME")
        self._embedder = name
        self._where = embedder_url or env.get("OPENAI_BASE_URL", "") or OWN_ENDPOINT
        self._asked = _Asked(model, ledger, timeout)
        self._home = tempfile.TemporaryDirectory(prefix="pmem-mem0-")
        self._memory: Any = None
        self._kept = 0
        try:
            memories, embedders = _imported(Path(self._home.name))
            # It warns of OPENAI_API_BASE, which tau2-bench's litellm reads.
            with warnings.catch_warnings(action="ignore"):
                tried = self._tried(embedders, env.get(KEY, "") or "none", timeout)
                self._memory = self._opened(memories, tried)
        except BaseException:
            self.close()
            raise

    def manage(self, moment: Moment) -> Sequence[BankOp]:
        """Add the newest step to Mem0's store; the bank stays empty."""
        step = moment.last_step
        if step is None or step.number == self._kept or moment.proposed is not None:
            return ()
        self._kept = step.number
        self._asked.failure = None
        try:
            self._memory.add(_messages(step), **_OWN)
        except Exception as error:
            if self._asked.failure is None:
                raise self._of_embedder(error) from error
            if self._asked.failure.lasting:
                raise CannotGoOn(str(self._asked.failure)) from error
        return ()

    def decide(self, moment: Moment) -> Decision:
        """What Mem0 finds for the newest step, best first; silence where it finds nothing."""
        step = moment.last_step
        if moment.proposed is not None or step is None:
            return Silence("Mem0 is asked after a step")
        query = cut_middle(_text(step), _SEARCHED)
        try:
            found = self._memory.search(query, filters=_OWN, top_k=TOP)["results"]
        except Exception as error:
            raise self._of_embedder(error) from error
        if not found:
            lost = self._asked.failure
            return Silence(f"the step is not kept: {lost}" if lost else "Mem0 finds nothing")
        lines = [" ".join(str(one["memory"]).split()) for one in found]
        text = "\n".join(["Memories that may bear on this:", *(f"- {line}" for line in lines)])
        return Reminder(text, (), reason=self.name, cause=f"mem0:{step.number}", whole=True)

    def close(self) -> None:
        """Let go of the store and remove its directory."""
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()
            memory.vector_store.client.close()
        self._home.cleanup()

    def _tried(self, embedders: Any, key: str, timeout: float) -> Any:
        """The embedder, asked once; it knows the size of its vectors then."""
        told = {"model": self._embedder, "api_key": key, "openai_base_url": self._where}
        embedder = embedders.create("openai", told, {})
        embedder.client = embedder.client.with_options(timeout=timeout)
        try:
            embedder.config.embedding_dims = len(embedder.embed("size"))
        except Exception as error:
            raise self._of_embedder(error) from error
        return embedder

    def _opened(self, memories: Any, embedder: Any) -> Any:
        home = Path(self._home.name)
        size = embedder.config.embedding_dims
        store = {"path": str(home / "qdrant"), "embedding_model_dims": size}
        nobody = {"provider": "openai", "config": {"model": "", "api_key": "none"}}
        memory = memories.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": nobody,
                "llm": nobody,
                "history_db_path": str(home / "history.db"),
            }
        )
        memory.embedding_model, memory.llm = embedder, self._asked
        return memory

    def _of_embedder(self, error: Exception) -> Exception:
        """An error of Mem0 as what it was: the embedder's, unless it says otherwise."""
        import openai

        if not isinstance(error, openai.OpenAIError):
            return error
        told = from_sdk(error, openai, model=self._embedder, where=self._where, key=KEY)
        if self._memory is not None and not told.lasting:
            return told
        why = str(told).partition("; ")[0]
        return CannotGoOn(
            f"Mem0's embedder cannot be used: {why}; --embedder and --embedder-url name another"
        )


class _Asked:
    """The memory agent's model as Mem0 asks it; `failure` is the error of the latest call."""

    def __init__(self, model: ChatModel, ledger: Ledger, timeout: float) -> None:
        self.model, self.ledger, self.timeout = model, ledger, timeout
        self.failure: ModelError | None = None

    def generate_response(self, messages: Sequence[Mapping[str, str]], **_: Any) -> str:
        """The text of the answer. Raises ModelError."""
        system = "\n\n".join(m["content"] for m in messages if m["role"] == "system")
        asked = tuple(Message("user", m["content"]) for m in messages if m["role"] != "system")
        request = Request(system, asked, phase="manage", timeout=self.timeout)
        began = time.monotonic()
        try:
            reply = self.model.ask(request)
        except ModelError as error:
            self.failure = error
            self._enter(request, None, began, str(error))
            raise
        self._enter(request, reply, began)
        return reply.text

    def _enter(self, request: Request, reply: Reply | None, began: float, error: str = "") -> None:
        self.ledger.enter([Exchange(request, reply, time.monotonic() - began, error)])


def _imported(home: Path) -> tuple[Any, Any]:
    """Mem0's own class and its embedders, imported where they can tell nobody."""
    # Both are read once, at the first import: by a first trial, whose directory nobody needs later.
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(home)
    logging.getLogger("mem0").setLevel(logging.CRITICAL)
    from mem0 import Memory
    from mem0.utils.factory import EmbedderFactory

    return Memory, EmbedderFactory


def _messages(step: Step) -> list[dict[str, str]]:
    """A step as the talk that Mem0 reads: what the agent did or said, and what it was told."""
    parts = [("assistant", step.action), ("user", step.observation)]
    return [
        {"role": role, "content": cut_middle(text, _ADDED)} for role, text in parts if text.strip()
    ] or [{"role": "user", "content": "(nothing)"}]


def _text(step: Step) -> str:
    return "\n".join(text for text in (step.action, step.observation) if text.strip()) or "nothing"
