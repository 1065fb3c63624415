"""The hook client carries one payload there and one answer back, and never fails its agent."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pmem.hook.line import CLIENT, hook_command


class Listener:
    """A unix socket that takes one request after another and answers each by a function."""

    def __init__(self, path: Path, reply: Callable[[bytes], bytes | None]) -> None:
        self.path = path
        self.requests: list[bytes] = []
        self._reply = reply
        self._held: list[socket.socket] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._socket.accept()
            except OSError:
                return
            request = b""
            while chunk := link.recv(65536):
                request += chunk
            self.requests.append(request)
            answer = self._reply(request)
            if answer is None:  # never answers, never closes
                self._held.append(link)
                continue
            link.sendall(answer)
            link.close()

    def close(self) -> None:
        self._socket.close()


def run(
    line: str, payload: bytes, sock: Path | str, token: str = "tok"
) -> subprocess.CompletedProcess[bytes]:
    env = {"PATH": "/usr/bin:/bin", "PMEM_SOCK": str(sock), "PMEM_TOKEN": token}
    return subprocess.run(["/bin/sh", "-c", line], input=payload, capture_output=True, env=env)


def silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_payload_arrives_whole_behind_version_token_and_agent(short_dir: Path) -> None:
    payload = bytes(range(256)) * 4096
    listener = Listener(short_dir / "s", lambda request: b"answer")
    done = run(hook_command("claude"), payload, listener.path, token="sécret")
    listener.close()
    assert done.stdout == b"answer"
    assert listener.requests == ["pmem1 sécret claude\n".encode() + payload]


def test_a_long_answer_comes_back_whole(short_dir: Path) -> None:
    listener = Listener(short_dir / "s", lambda request: b"x" * 3_000_000)
    done = run(hook_command("claude"), b"{}", listener.path)
    listener.close()
    assert done.returncode == 0
    assert done.stdout == b"x" * 3_000_000


def test_silence_is_no_output_and_exit_zero(short_dir: Path) -> None:
    listener = Listener(short_dir / "s", lambda request: b"")
    assert silent(run(hook_command("claude"), b"{}", listener.path))
    listener.close()


def test_no_session_is_no_output_and_exit_zero(short_dir: Path) -> None:
    assert silent(run(hook_command("claude"), b"{}", short_dir / "nobody"))


def test_a_stale_socket_is_no_output_and_exit_zero(short_dir: Path) -> None:
    listener = Listener(short_dir / "s", lambda request: b"")
    listener.close()
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(short_dir / "stale"))
    stale.close()
    assert silent(run(hook_command("claude"), b"{}", short_dir / "stale"))


def test_a_session_that_never_answers_is_given_up(short_dir: Path) -> None:
    listener = Listener(short_dir / "s", lambda request: None)
    assert silent(run(hook_command("claude", seconds=0.1), b"{}", listener.path))
    listener.close()


def test_what_a_busy_session_takes_in_late_is_not_lost(short_dir: Path) -> None:
    payload = b"x" * 4_000_000  # more than a socket holds: it is still being sent when time is up
    waiting = socket.socket(socket.AF_UNIX)
    waiting.bind(str(short_dir / "s"))
    waiting.listen()
    assert silent(run(hook_command("claude", seconds=0.1), payload, short_dir / "s"))
    link, _ = waiting.accept()
    link.settimeout(60)
    request = b""
    while chunk := link.recv(1 << 20):
        request += chunk
    assert request == b"pmem1 tok claude\n" + payload
    link.close()
    waiting.close()


def test_an_agent_slow_to_write_its_payload_is_heard(short_dir: Path) -> None:
    listener = Listener(short_dir / "s", lambda request: b"answer")
    line = f"(sleep 0.4; printf '{{}}') | {{ {hook_command('claude', seconds=0.2)}; }}"
    assert run(line, b"", listener.path).stdout == b"answer"
    listener.close()


def test_an_agent_that_never_closes_its_end_is_given_up(short_dir: Path) -> None:
    listener = Listener(short_dir / "s", lambda request: b"answer")
    env = {"PMEM_SOCK": str(listener.path), "PMEM_TOKEN": "tok"}
    line = hook_command("claude", seconds=0.05)
    child = subprocess.Popen(
        ["/bin/sh", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    )
    assert child.wait() == 0
    assert child.stdout is not None and child.stdout.read() == b""
    assert child.stdin is not None
    child.stdin.close()
    child.stdout.close()
    listener.close()


@pytest.mark.parametrize("missing", ["PMEM_SOCK", "PMEM_TOKEN"])
def test_outside_of_a_session_it_says_nothing(missing: str, short_dir: Path) -> None:
    env = {"PMEM_SOCK": str(short_dir / "s"), "PMEM_TOKEN": "tok"}
    del env[missing]
    done = subprocess.run(
        ["/bin/sh", "-c", hook_command("claude")], input=b"{}", capture_output=True, env=env
    )
    assert silent(done)


def test_a_missing_client_or_interpreter_never_reads_as_a_refusal(short_dir: Path) -> None:
    no_client = hook_command("claude", client=short_dir / "gone.py")
    no_python = hook_command("claude", python=str(short_dir / "no" / "python"))
    for line in (no_client, no_python):
        assert silent(run(line, b"{}", short_dir / "s"))


def test_the_line_survives_a_directory_with_spaces_and_quotes(short_dir: Path) -> None:
    place = short_dir / "it's a place"
    place.mkdir()
    client = shutil.copy(CLIENT, place / "client.py")
    listener = Listener(short_dir / "s", lambda request: b"answer")
    done = run(hook_command("claude", client=client), b"{}", listener.path)
    listener.close()
    assert done.stdout == b"answer"


def test_the_client_loads_almost_nothing() -> None:
    code = (
        f"import sys, os; before = set(sys.modules);"
        f"exec(compile(open({os.fspath(CLIENT)!r}).read(), 'client', 'exec'), {{'__name__': 'c'}});"
        f"print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-ISE", "-c", code], capture_output=True, text=True)
    assert set(done.stdout.split()) <= {"_socket", "_signal"}, done.stderr
