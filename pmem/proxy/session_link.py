"""The wire to the session process: the one that hook clients use, over its unix socket."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from pmem.core.excerpt import excerpt
from pmem.proxy.conversation import News

WIRE = b"pmem1"
#: Characters of one text that the session is told; it keeps far fewer.
MAX_TEXT = 200_000


class SessionLink:
    """Tells a session what is new, and brings back the words for the model.

    `seconds` is how long an answer is waited for; without one, or on any trouble, there is silence.
    """

    def __init__(self, path: str, token: str, cwd: str, seconds: float = 0.5) -> None:
        self._path, self._head = path, b"%s %s pmem-proxy\n" % (WIRE, os.fsencode(token))
        self._cwd, self._seconds = cwd, seconds

    async def tell(self, lane: str | None, news: Sequence[News]) -> str:
        """The words for the model, "" for silence."""
        said = {"lane": lane, "cwd": self._cwd, "events": [_cut(one) for one in news]}
        payload = json.dumps(said, ensure_ascii=False).encode("utf-8", "replace")
        try:
            answer = await asyncio.wait_for(self._ask(self._head + payload), self._seconds)
        except (OSError, TimeoutError):
            return ""
        return answer.decode("utf-8", "replace")

    async def _ask(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self._path)
        try:
            writer.write(request)
            await writer.drain()
            writer.write_eof()
            return await reader.read()
        finally:
            writer.close()


def _cut(told: Any) -> Any:
    """What is told, with long texts cut to head and tail."""
    if isinstance(told, Mapping):
        return {name: _cut(value) for name, value in told.items()}
    if isinstance(told, list | tuple):
        return [_cut(value) for value in told]
    return excerpt(told, MAX_TEXT) if isinstance(told, str) else told
