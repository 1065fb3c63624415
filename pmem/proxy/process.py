"""The proxy process: it serves until its standard input ends, whatever ended the other side.

The first line there is JSON with what it needs; nothing of it stands in arguments or environment.
The process that reads it only keeps the port: another one serves, and when that is killed a new one
goes on at the same port, where connections wait for it meanwhile.
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

#: After so many ends in a row the next process only passes requests on; after so many none comes.
WITH_MEMORY, AT_ALL = 2, 5
#: A process that served so long did not end in a row, in seconds.
LONG = 60.0


def main() -> None:
    """Read the line, have it served, end. Never returns."""
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    line = sys.stdin.buffer.readline()
    try:
        told = json.loads(line)
    except ValueError:  # whoever started it was gone before it could say what is needed
        os._exit(125)
    ends, first = 0, True
    while True:
        begun = time.monotonic()
        serving = os.fork()
        if not serving:
            session = told["socket"] if ends < WITH_MEMORY else ""
            _serve_and_end({**told, "socket": session, "after_another": not first})
        status, first = os.waitpid(serving, 0)[1], False
        if status == 0:
            os._exit(0)
        ends = 1 if time.monotonic() - begun > LONG else ends + 1
        complain(str(told.get("errors", "")), _how_it_ended(status, ends))
        if ends == AT_ALL:
            os._exit(125)
        time.sleep(0.1 * (ends - 1))


def _how_it_ended(status: int, ends: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
    then = (
        "it is not started again"
        if ends == AT_ALL
        else "another goes on"
        if ends < WITH_MEMORY
        else "another goes on, without memory"
    )
    return f"the model proxy {how}; {then}\n"


def _serve_and_end(told: dict[str, Any]) -> None:
    code = 0
    try:
        asyncio.run(_serve(told))
    except BaseException as error:
        from pmem.proxy.memory import trace

        complain(str(told.get("errors", "")), trace(error))
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
        link,
        lambda text: complain(errors, text),
        transient=bool(told.get("transient")),
        after_another=bool(told.get("after_another")),
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
