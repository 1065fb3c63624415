"""A service on loopback that does what a test says, the real proxy process, and a bare session."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from pmem.proxy.start import Doors, Open

#: Seconds after which something counts as stuck.
STUCK = 30
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Request:
    """A request as it came: its head in lines, and its body in the bytes of the wire."""

    def __init__(self, head: bytes, body: bytes) -> None:
        self.line, *lines = head.decode("latin-1").split("\r\n")
        pairs = [line.partition(":") for line in lines if line]
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}
        self.body = body


def read(link: socket.socket, waiting: bytearray) -> Request | None:
    """The next request of a connection, None at its end."""
    while b"\r\n\r\n" not in waiting:
        part = link.recv(1 << 16)
        if not part:
            return None
        waiting += part
    head, _, rest = bytes(waiting).partition(b"\r\n\r\n")
    del waiting[:]
    waiting += rest
    request = Request(head, b"")
    if "chunked" in request.headers.get("transfer-encoding", ""):
        while True:
            while b"\r\n" not in waiting:
                waiting += link.recv(1 << 16)
            size = int(bytes(waiting).partition(b"\r\n")[0], 16)
            start = waiting.index(b"\r\n") + 2
            while len(waiting) < start + size + 2:
                waiting += link.recv(1 << 16)
            request.body += bytes(waiting[start : start + size])
            del waiting[: start + size + 2]
            if not size:
                return request
    length = int(request.headers.get("content-length", 0))
    while len(waiting) < length:
        part = link.recv(1 << 20)
        if not part:
            return None
        waiting += part
    request.body = bytes(waiting[:length])
    del waiting[:length]
    return request


class Service:
    """Keeps every request; `answer` writes each reply to the connection."""

    def __init__(self, answer: Callable[[socket.socket, Request], None]) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes who waits for one
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        waiting = bytearray()
        try:
            while (request := read(link, waiting)) is not None:
                self.requests.append(request)
                self.answer(link, request)
        except OSError:
            pass
        link.close()


class Passing:
    """One proxy for many tests: without a session it remembers nothing from one to the next."""

    def __init__(self, service: Service, port: int, door: str) -> None:
        self.service, self.port, self.door = service, port, door

    @contextlib.contextmanager
    def to(self, answer: Callable[[socket.socket, Request], None]) -> Iterator[tuple[int, str]]:
        """Its port and the path of its door, the service answering so."""
        self.service.requests.clear()
        self.service.answer = answer
        yield self.port, self.door


def fine(link: socket.socket, request: Request) -> None:
    """An answer of two bytes."""
    link.sendall(OK)


class Mind:
    """A session that is only its socket: it keeps what it is told and says what a test wants."""

    def __init__(self, path: Path, words: Callable[[dict[str, object]], str]) -> None:
        self.told: list[dict[str, object]] = []
        self.reach = {"PMEM_SOCK": str(path), "PMEM_TOKEN": "token"}
        self._words = words
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Gone, as after a crash."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._socket.accept()
            except OSError:
                return
            request = b""
            while chunk := link.recv(1 << 16):
                request += chunk
            head, _, payload = request.partition(b"\n")
            assert head == b"pmem1 token pmem-proxy"
            said = json.loads(payload)
            self.told.append(said)
            with contextlib.suppress(OSError):
                link.sendall(self._words(said).encode())
            link.close()


@contextlib.contextmanager
def proxied(
    service: str, mind: Mind | None = None, *, transient: bool = False, seconds: float = STUCK
) -> Iterator[tuple[int, str, Open]]:
    """The real proxy process before a service: its port, the path of its door, and itself."""
    doors = Doors()
    door = doors.door(service)
    reach = mind.reach if mind is not None else {}
    running = doors.open(reach, cwd="/p", seconds=seconds, transient=transient)
    try:
        yield doors.port, door.partition(f":{doors.port}")[2], running
    finally:
        running.close()


def ask(
    port: int,
    path: str,
    body: bytes | None = b"{}",
    headers: dict[str, str] | None = None,
    method: str = "POST",
) -> tuple[int, dict[str, str], bytes]:
    """One request by a plain client: status, headers, body."""
    import http.client

    client = http.client.HTTPConnection("127.0.0.1", port, timeout=STUCK)
    try:
        client.request(method, path, body, headers or {})
        answer = client.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        client.close()
