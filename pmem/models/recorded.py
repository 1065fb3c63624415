"""A model whose every prompt and answer is put on disk, so that a run can be read, gone on with
and repeated."""

from __future__ import annotations

import json
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pmem.core import json_text
from pmem.models.command import rendered
from pmem.models.protocol import ChatModel, ModelError, Reply, Request, ToolCall

CALLS = "calls.jsonl"


class Recorded:
    """Asks another model and writes `0001-manage-prompt.txt`, `0001-manage-answer.txt` and
    `calls.jsonl` into a directory, which is made if need be, for its user alone.

    No answered call there is overwritten: the numbers go on. With `reuse` a prompt that this
    model has answered there is not asked again; `reused` counts those. Raises OSError if the
    directory cannot be used.
    """

    def __init__(self, model: ChatModel, folder: Path, *, reuse: bool = False) -> None:
        self.model = model
        self.folder = folder
        self.name = model.name
        self.native_tools = model.native_tools
        self.reused = 0
        self._answers: dict[tuple[str, str], deque[Reply]] = defaultdict(deque)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        rows = list(self._rows())
        self._n = max((row["n"] for row in rows), default=0)
        for row in rows if reuse else ():
            self._remember(row)

    def ask(self, request: Request) -> Reply:
        """The answer on disk, else the other model's.

        Raises ModelError as that does; a failed call is on disk too, and asked again another time.
        """
        prompt = _as_written(rendered(request))
        known = self._answers.get((request.phase, prompt))
        if known:
            self.reused += 1
            return known.popleft()
        self._n += 1
        stem = f"{self._n:04}-{request.phase or 'call'}"
        self._write(f"{stem}-prompt.txt", prompt)
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

    def _rows(self) -> Iterator[dict[str, Any]]:
        """The calls on disk; a line cut off by a kill is passed over."""
        path = self.folder / CALLS
        if not path.exists():
            return
        raw = path.read_bytes()
        if raw and not raw.endswith(b"\n"):
            path.write_bytes(raw + b"\n")
        for line in raw.decode("utf-8", "replace").split("\n"):
            try:
                row = json_text.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and isinstance(row.get("n"), int):
                yield row

    def _remember(self, row: Mapping[str, Any]) -> None:
        phase, answer = str(row.get("phase", "")), row.get("answer")
        if row.get("model") != self.name or not isinstance(answer, str):
            return
        try:
            prompt = (self.folder / f"{row['n']:04}-{phase or 'call'}-prompt.txt").read_bytes()
        except OSError:
            return
        calls = tuple(
            ToolCall(f"call_{row['n']}_{i}", str(c["name"]), dict(c["arguments"]))
            for i, c in enumerate(row.get("calls") or ())
        )
        self._answers[phase, prompt.decode("utf-8", "replace")].append(Reply(answer, calls))

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_bytes(text.encode("utf-8", "replace"))

    def _keep(self, record: dict[str, Any]) -> None:
        with (self.folder / CALLS).open("a", encoding="utf-8", errors="replace") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _as_written(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
