"""The proxy process: it serves until its standard input ends, whatever ended the other side.

The first line there is JSON with what it needs; nothing of it stands in arguments or environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import time
from typing import Any


def main() -> None:
    """Read the line, serve, end. Never returns."""
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    line = sys.stdin.buffer.readline()
    code = 0
    try:
        asyncio.run(_serve(json.loads(line)))
    except Exception as error:
        from pmem.proxy.memory import trace

        with contextlib.suppress(ValueError):
            complain(json.loads(line).get("errors", ""), trace(error))
        code = 125
    os._exit(code)


async def _serve(told: dict[str, Any]) -> None:
    from pmem.proxy.memory import Memory
    from pmem.proxy.server import Proxy
    from pmem.proxy.session_link import SessionLink

    link = None
    if told.get("socket"):
        link = SessionLink(
            told["socket"], told["token"], told.get("cwd", ""), float(told.get("seconds", 0.5))
        )
    errors = str(told.get("errors", ""))
    memory = Memory(
        link, lambda text: complain(errors, text), transient=bool(told.get("transient"))
    )
    proxy = Proxy(told["routes"], memory)
    await proxy.start(socket.socket(fileno=int(told["fd"])))
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(0, lambda: None if os.read(0, 4096) else ended.set())
    await ended.wait()
    await proxy.close()
    os._exit(0)  # who still waits for a reply waits for an agent that is gone


def complain(path: str, text: str) -> None:
    """Keep an unexpected error where the session keeps its own; never raises."""
    if not path:
        return
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            os.write(fd, f"{stamp}\n{text}\n".encode("utf-8", "replace"))
        finally:
            os.close(fd)
