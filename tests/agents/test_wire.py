"""The way from a plug-in in JavaScript to the session: it answers, or is silent in time."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pmem.agents.opencode import PLUGIN

WIRE = PLUGIN.with_name("wire.mjs")
Serve = Callable[[Callable[[bytes], bytes | None]], Path]


@pytest.fixture
def serve(short_dir: Path) -> Iterator[Serve]:
    """A socket on which each request is answered by a function; None keeps it waiting."""
    listener = socket.socket(socket.AF_UNIX)
    kept: list[socket.socket] = []

    def start(answer: Callable[[bytes], bytes | None]) -> Path:
        listener.bind(str(short_dir / "s"))
        listener.listen(8)

        def run() -> None:
            while True:
                try:
                    link, _ = listener.accept()
                except OSError:
                    return
                request = b""
                while part := link.recv(1 << 16):
                    request += part
                reply = answer(request)
                if reply is None:
                    kept.append(link)
                    continue
                link.sendall(reply)
                link.close()

        threading.Thread(target=run, daemon=True).start()
        return short_dir / "s"

    yield start
    for one in (listener, *kept):
        one.close()


def ask(path: Path, told: str, patience: str = "10") -> object:
    """What the wire makes of a request in node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is missing")
    script = f'import {{ ask }} from "{WIRE.as_uri()}"\n'
    script += f'console.log(JSON.stringify(await ask("pi", {told})))\n'
    env = {"PMEM_SOCK": str(path), "PMEM_TOKEN": "token", "PMEM_PATIENCE": patience}
    command = [node, "--input-type=module", "-e", script]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_request_goes_out_whole_and_its_answer_comes_back(serve: Serve) -> None:
    def answer(request: bytes) -> bytes:
        head, _, payload = request.partition(b"\n")
        return json.dumps([head.decode(), len(json.loads(payload)["a"]), "기억" * 50_000]).encode()

    path = serve(answer)
    assert ask(path, '{ a: "값".repeat(1e6) }') == ["pmem1 token pi", 1_000_000, "기억" * 50_000]


@pytest.mark.parametrize("reply", [b"", b"{", b"\xff"])
def test_nothing_and_nonsense_are_silence(serve: Serve, reply: bytes) -> None:
    assert ask(serve(lambda _: reply), "{}") is None


def test_a_session_that_does_not_answer_is_silence_in_time(serve: Serve) -> None:
    assert ask(serve(lambda _: None), "{}", patience="0.2") is None


def test_no_session_is_silence(short_dir: Path) -> None:
    assert ask(short_dir / "gone", "{}") is None
