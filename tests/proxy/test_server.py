"""The real proxy process between a client and a service that does what it likes.

What a client sees is what it would see without the proxy.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from services import STUCK, Mind, Passing, Request, Service, ask, fine, proxied
from wires import ANTHROPIC, SPOKEN, Spoken, shorter

KEY = "sk-ant-api03-kept-nowhere"
EACH = pytest.mark.parametrize("spoken", SPOKEN, ids=lambda s: s.name)
COMMANDS = ["make build"] * 30


@pytest.fixture
def service() -> Iterator[Service]:
    """A service that is content with everything."""
    one = Service(fine)
    yield one
    one.close()


@pytest.fixture(scope="module")
def passing() -> Iterator[Passing]:
    """A proxy that only passes on."""
    one = Service(fine)
    with proxied(one.url) as (port, door, _):
        yield Passing(one, port, door)
    one.close()


@EACH
def test_thirty_turns_without_words_arrive_as_the_very_bytes(
    spoken: Spoken, service: Service, short_dir: Path
) -> None:
    mind = Mind(short_dir / "s", lambda said: "")
    with proxied(service.url, mind) as (port, door, _):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=STUCK)
        sent = list(spoken.talk(COMMANDS))
        for data in sent:
            client.request("POST", f"{door}{spoken.path}?key=%2F{KEY}", data, {"x-api-key": KEY})
            assert client.getresponse().read() == b"{}"
    digests = [hashlib.sha256(request.body).hexdigest() for request in service.requests]
    assert digests == [hashlib.sha256(data).hexdigest() for data in sent]
    assert {r.line for r in service.requests} == {f"POST {spoken.path}?key=%2F{KEY} HTTP/1.1"}
    assert {r.headers["x-api-key"] for r in service.requests} == {KEY}
    assert service.connections == 1  # it is kept open, here and there
    events = [e["event"] for said in mind.told for e in said["events"]]  # type: ignore[attr-defined]
    assert events.count("observed") == 30 and events.count("user") == 1
    assert KEY not in json.dumps(mind.told)


@EACH
def test_thirty_turns_with_words_each_begin_with_the_one_before(
    spoken: Spoken, service: Service, short_dir: Path
) -> None:
    mind = Mind(short_dir / "s", lambda said: f"remember {len(mind.told)}")
    with proxied(service.url, mind) as (port, door, _):
        for data in spoken.talk(COMMANDS):
            ask(port, door + spoken.path, data)
            ask(port, door + spoken.path, data)  # a retry
    bodies = [request.body for request in service.requests]
    assert bodies[::2] == bodies[1::2]
    before = b""
    for number, body in enumerate(bodies[::2], start=1):
        assert body.startswith(before)
        assert body.count(b"remember ") == number
        before = shorter(body)


def test_a_stream_is_passed_on_as_it_comes(passing: Passing) -> None:
    """Each piece is sent only when the client has the one before."""
    went = [threading.Event() for _ in range(3)]

    def slow(link: socket.socket, request: Request) -> None:
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
        link.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
        for number, event in enumerate(went):
            data = f"data: {number}\n\n".encode()
            link.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            assert event.wait(STUCK)
        link.sendall(b"0\r\n\r\n")

    with passing.to(slow) as (port, door):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=STUCK)
        client.request("POST", door + ANTHROPIC.path, b"{}")
        answer = client.getresponse()
        for number, event in enumerate(went):
            assert answer.read1(100) == f"data: {number}\n\n".encode()
            event.set()
        assert answer.read() == b""


def test_a_slow_reader_slows_the_service_down(passing: Passing) -> None:
    """What it does not take yet waits at the service, and not here."""
    size, sent = 64 << 20, [0]

    def much(link: socket.socket, request: Request) -> None:
        link.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        while sent[0] < size:
            link.sendall(b"x" * (1 << 20))
            sent[0] += 1 << 20

    with passing.to(much) as (port, door):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=STUCK)
        client.request("POST", door + ANTHROPIC.path, b"{}")
        answer = client.getresponse()
        before = -1
        while before != sent[0]:
            before = sent[0]
            time.sleep(0.3)
        assert before < size
        assert len(answer.read()) == size


def test_a_client_that_goes_away_takes_its_request_with_it(passing: Passing) -> None:
    """While the service thinks, and in the middle of its answer."""
    gone = threading.Event()

    def hanging(link: socket.socket, request: Request) -> None:
        if request.headers.get("x-begin"):
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun")
        with contextlib.suppress(OSError):
            assert link.recv(1) == b""
        gone.set()

    for headers in ({}, {"x-begin": "1"}):
        with passing.to(hanging) as (port, door):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=STUCK)
            client.request("POST", door + ANTHROPIC.path, b"{}", headers)
            if headers:
                assert client.getresponse().read(5) == b"begun"
            while not passing.service.requests:
                time.sleep(0.01)
            assert not gone.is_set()
            client.close()
            assert gone.wait(STUCK)
            gone.clear()


def test_a_reset_in_the_middle_is_a_reset_here(passing: Passing) -> None:
    def broken(link: socket.socket, request: Request) -> None:
        link.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n")
        raise ConnectionResetError

    with (
        passing.to(broken) as (port, door),
        pytest.raises((http.client.IncompleteRead, ConnectionError)),
    ):
        ask(port, door + ANTHROPIC.path)


def test_a_service_that_ends_the_connection_without_a_word_does_so_here(passing: Passing) -> None:
    def mute(link: socket.socket, request: Request) -> None:
        raise ConnectionResetError

    with (
        passing.to(mute) as (port, door),
        pytest.raises((http.client.RemoteDisconnected, ConnectionError)),
    ):
        ask(port, door + ANTHROPIC.path)


def test_a_service_that_is_not_there_is_a_502_that_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = closed.getsockname()[1]
    with proxied(f"http://127.0.0.1:{nobody}") as (port, door, _):
        status, _, words = ask(port, door + ANTHROPIC.path)
    assert status == 502 and b"cannot be reached" in words


def test_a_refusal_arrives_with_its_headers(passing: Passing) -> None:
    def refusing(link: socket.socket, request: Request) -> None:
        link.sendall(
            f"HTTP/1.1 {request.headers['x-want']} No\r\nRetry-After: 7\r\nX-Request-Id: r\r\n"
            "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nLocation: /else\r\n"
            "Content-Length: 2\r\n\r\n{}".encode()
        )

    wanted = (429, 529, 500, 400, 307)
    with passing.to(refusing) as (port, door):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=STUCK)
        for status in wanted:
            client.request("POST", door + ANTHROPIC.path, b"{}", {"X-Want": str(status)})
            answer = client.getresponse()
            assert (answer.status, answer.read()) == (status, b"{}")
            assert answer.headers.get_all("set-cookie") == ["a=1", "b=2"]
            assert (answer.headers["retry-after"], answer.headers["x-request-id"]) == ("7", "r")
    assert len(passing.service.requests) == len(wanted)  # no second try, no redirect followed


def packed(kind: str) -> bytes:
    data = ANTHROPIC.body([ANTHROPIC.task("go")])
    if kind == "gzip":
        return gzip.compress(data)
    if shutil.which("zstd") is None:
        pytest.skip("zstd is missing")
    return subprocess.run(["zstd", "-c"], input=data, capture_output=True, check=True).stdout


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_packed_body_is_never_touched(kind: str, service: Service, short_dir: Path) -> None:
    mind = Mind(short_dir / "s", lambda said: "remember")
    data = packed(kind)
    with proxied(service.url, mind) as (port, door, _):
        ask(port, door + ANTHROPIC.path, data, {"Content-Encoding": kind})
    (request,) = service.requests
    assert (request.body, request.headers["content-encoding"]) == (data, kind)
    assert mind.told == []


#: Torn, not UTF-8, empty, nested too deeply; a file, a count, a path nobody knows.
STRANGE = (
    (ANTHROPIC.path, b'{"messages": [{"role": '),
    (ANTHROPIC.path, b"\xff\xfe"),
    (ANTHROPIC.path, b""),
    (ANTHROPIC.path, b"[" * 200_000),
    ("/v1/files", bytes(range(256)) * 4),
    ("/v1/messages/count_tokens", b'{"messages": [{"role": "user", "content": "x"}]}'),
    ("/v1/what/is/this%2Fpath?a=b&a=%20", b"x"),
)


def test_what_is_no_conversation_passes_as_it_is(service: Service, short_dir: Path) -> None:
    mind = Mind(short_dir / "s", lambda said: "remember")
    with proxied(service.url, mind) as (port, door, _):
        for path, body in STRANGE:
            assert ask(port, door + path, body)[2] == b"{}"
    came = [(request.line, request.body) for request in service.requests]
    assert came == [(f"POST {path} HTTP/1.1", body) for path, body in STRANGE]
    assert mind.told == []


def test_a_body_of_fifty_megabytes_passes_and_is_read(service: Service, short_dir: Path) -> None:
    mind = Mind(short_dir / "s", lambda said: "")
    data = ANTHROPIC.body([ANTHROPIC.task("x" * 50_000_000)])
    with proxied(service.url, mind) as (port, door, _):
        ask(port, door + ANTHROPIC.path, data)
    digest = hashlib.sha256(service.requests[0].body).hexdigest()
    assert digest == hashlib.sha256(data).hexdigest()


def test_a_body_in_chunks_arrives_whole(passing: Passing) -> None:
    with passing.to(fine) as (port, door):
        for path in (ANTHROPIC.path, "/v1/files"):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=STUCK)
            client.request("POST", door + path, iter([b"{", b"}" * 3]), encode_chunked=True)
            assert client.getresponse().read() == b"{}"
    assert [request.body for request in passing.service.requests] == [b"{}}}"] * 2


def test_a_client_that_asks_before_it_sends_is_told_to_go_on(passing: Passing) -> None:
    with (
        passing.to(fine) as (port, door),
        socket.create_connection(("127.0.0.1", port), STUCK) as link,
    ):
        head = f"POST {door}{ANTHROPIC.path} HTTP/1.1\r\nHost: localhost:{port}\r\n"
        link.sendall(f"{head}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n".encode())
        assert link.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        link.sendall(b"{}")
        assert link.recv(15) == b"HTTP/1.1 200 OK"
    assert "expect" not in passing.service.requests[0].headers


def test_requests_without_a_body_are_passed_on(passing: Passing) -> None:
    def counting(link: socket.socket, request: Request) -> None:
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        if not request.line.startswith("HEAD"):
            link.sendall(b"hello")

    with passing.to(counting) as (port, door):
        for method, body in (("GET", b"hello"), ("HEAD", b""), ("DELETE", b"hello")):
            status, headers, came = ask(port, f"{door}/v1/models", None, method=method)
            assert (status, headers["content-length"], came) == (200, "5", body)
    assert [r.line.split()[0] for r in passing.service.requests] == ["GET", "HEAD", "DELETE"]


def test_a_websocket_is_turned_away_with_a_plain_word(passing: Passing) -> None:
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade"}
    with passing.to(fine) as (port, door):
        status, _, words = ask(port, f"{door}/v1/responses", b"", upgrade, "GET")
        assert status == 426 and b"WebSocket" in words
        assert ask(port, door + ANTHROPIC.path)[0] == 200  # and it goes on
    assert len(passing.service.requests) == 1


def test_nobody_else_is_served(passing: Passing) -> None:
    """Without the secret in the address, or by another name of this machine."""
    with passing.to(fine) as (port, door):
        assert ask(port, ANTHROPIC.path)[0] == 404
        assert ask(port, door + ANTHROPIC.path, headers={"Host": "evil.example.org"})[0] == 403
        assert ask(port, door + ANTHROPIC.path, headers={"Host": f"localhost:{port}"})[0] == 200
    assert len(passing.service.requests) == 1


def test_a_session_that_is_gone_or_slow_leaves_every_request_as_it_is(
    service: Service, short_dir: Path
) -> None:
    over = threading.Event()
    slow = Mind(short_dir / "s", lambda said: "late" if over.wait(STUCK) else "")
    gone = Mind(short_dir / "g", lambda said: "remember")
    gone.close()
    (short_dir / "g").unlink()
    sent = list(ANTHROPIC.talk(COMMANDS[:2]))
    for mind in (slow, gone):
        with proxied(service.url, mind, seconds=0.2) as (port, door, _):
            for data in sent:
                assert ask(port, door + ANTHROPIC.path, data)[0] == 200
    over.set()
    assert [request.body for request in service.requests] == sent * 2


def test_what_a_session_says_to_a_reply_comes_with_the_next_request(short_dir: Path) -> None:
    """The proposed action is read from the stream; its words wait for the result."""
    use = {"type": "tool_use", "id": "toolu_0", "name": "Bash", "input": {"command": "make build"}}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": use},
        {"type": "message_stop"},
    ]
    data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)

    def streaming(link: socket.socket, request: Request) -> None:
        packed = gzip.compress(data)
        link.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
            + f"Content-Length: {len(packed)}\r\n\r\n".encode()
            + packed
        )

    def words(said: dict[str, object]) -> str:
        kinds = [event["event"] for event in said["events"]]  # type: ignore[attr-defined]
        return "remember" if "proposed" in kinds else ""

    service, mind = Service(streaming), Mind(short_dir / "s", words)
    with proxied(service.url, mind) as (port, door, _):
        first, second = ANTHROPIC.talk(COMMANDS[:1])
        ask(port, door + ANTHROPIC.path, first)
        ask(port, door + ANTHROPIC.path, second)
    kinds = [[e["event"] for e in said["events"]] for said in mind.told[:3]]  # type: ignore[attr-defined]
    assert kinds == [["user"], ["proposed"], ["observed"]]
    blocks = json.loads(service.requests[1].body)["messages"][-1]["content"]
    assert [block.get("text") for block in blocks] == [None, "remember"]
    service.close()


def serving(keeper: int) -> list[int]:
    """The process that serves, a child of the one that keeps the port."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    pairs = [line.split() for line in listed.stdout.splitlines()]
    return [int(pid) for pid, parent in pairs if int(parent) == keeper]


def test_one_that_is_killed_is_followed_by_another_at_its_port(
    service: Service, short_dir: Path
) -> None:
    """The second one that follows only passes on; after five ends in a row there is none."""
    mind = Mind(short_dir / "s", lambda said: "remember")
    request = next(iter(ANTHROPIC.talk([])))
    with proxied(service.url, mind) as (port, door, running):
        for _ in range(4):
            assert ask(port, door + ANTHROPIC.path, request)[0] == 200
            [pid] = serving(running.process.pid)
            os.kill(pid, signal.SIGKILL)
        assert ask(port, door + ANTHROPIC.path, request)[0] == 200
        [pid] = serving(running.process.pid)
        os.kill(pid, signal.SIGKILL)
        assert running.process.wait(STUCK) == 125
        with pytest.raises(ConnectionRefusedError):
            ask(port, door + ANTHROPIC.path, request)
    spoke = [b"remember" in request.body for request in service.requests]
    assert spoke == [True, True, False, False, False]


def test_what_was_told_before_a_kill_is_not_told_again(service: Service, short_dir: Path) -> None:
    mind = Mind(short_dir / "s", lambda said: "")
    before, again, later = list(ANTHROPIC.talk(COMMANDS[:3]))[1:]
    with proxied(service.url, mind) as (port, door, running):
        ask(port, door + ANTHROPIC.path, before)
        [pid] = serving(running.process.pid)
        os.kill(pid, signal.SIGKILL)
        ask(port, door + ANTHROPIC.path, again)
        ask(port, door + ANTHROPIC.path, later)
    first, last = ([e["event"] for e in said["events"]] for said in mind.told)  # type: ignore[attr-defined]
    assert "observed" in first and last == ["proposed", "observed"]


def test_whoever_serves_ends_with_the_start_even_if_nobody_keeps_the_port(service: Service) -> None:
    with proxied(service.url) as (port, door, running):
        assert ask(port, door + ANTHROPIC.path)[0] == 200
        running.process.kill()
        running.process.wait(STUCK)
        assert ask(port, door + ANTHROPIC.path)[0] == 200
    with pytest.raises(OSError):  # refused, or reset while it ends
        for _ in range(10_000):
            ask(port, door + ANTHROPIC.path)


def test_it_ends_with_whoever_started_it(service: Service) -> None:
    with proxied(service.url) as (port, door, running):
        ask(port, door + ANTHROPIC.path)
        assert running.process.poll() is None
        assert running.process.stdin is not None
        running.process.stdin.close()
        assert running.process.wait(STUCK) == 0
