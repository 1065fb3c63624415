"""A model whose every prompt and answer is put on disk, so that a run can be read and repeated."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from pmem.models.command import rendered
from pmem.models.protocol import ChatModel, ModelError, Reply, Request


class Recorded:
    """Asks another model and writes `0001-manage-prompt.txt`, `0001-manage-answer.txt` and
    `calls.jsonl` into a directory, which is made if need be."""

    def __init__(self, model: ChatModel, folder: Path) -> None:
        self.model = model
        self.folder = folder
        self.name = model.name
        self.native_tools = model.native_tools
        self._n = 0
        folder.mkdir(parents=True, exist_ok=True)

    def ask(self, request: Request) -> Reply:
        """The other model's answer. Raises ModelError as it does; a failed call is on disk too."""
        self._n += 1
        stem = f"{self._n:04}-{request.phase or 'call'}"
        self._write(f"{stem}-prompt.txt", rendered(request))
        began = time.monotonic()
        told: dict[str, Any] = {"n": self._n, "model": self.name, "phase": request.phase}
        try:
            reply = self.model.ask(request)
        except ModelError as error:
            self._keep({**told, "error": str(error)})
            raise
        calls = [{"name": c.name, "arguments": dict(c.arguments)} for c in reply.calls]
        lines = [reply.text, *(json.dumps(call, ensure_ascii=False) for call in calls)]
        self._write(f"{stem}-answer.txt", "\n".join(line for line in lines if line) + "\n")
        usage = {"input": reply.usage.input, "output": reply.usage.output}
        usage |= {"cache_read": reply.usage.cache_read, "cache_write": reply.usage.cache_write}
        seconds = round(time.monotonic() - began, 3)
        self._keep({**told, "answer": reply.text, "calls": calls, "usage": usage, "s": seconds})
        return reply

    def close(self) -> None:
        """Close the other model."""
        self.model.close()

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8", errors="replace")

    def _keep(self, record: dict[str, Any]) -> None:
        with (self.folder / "calls.jsonl").open("a", encoding="utf-8", errors="replace") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
