"""What the model proxy adds to a request, beside nginx as a plain reverse proxy.

`python benchmarks/proxy.py [--runs N] [--streams N] [--json]`. One service on loopback streams
events that carry the time at which they were sent; a client asks it directly, through nginx
(buffering off, connections kept), and through the proxy. The subjects take turns.

- `first_ms`: from sending a request of --kilobytes (a conversation in the format of Claude) to the
  first byte of the reply; `added` is that less the direct one.
- `event_ms`: from the sending of an event to its arrival.
- `parallel_mb_s`: --streams replies of 4 MB each at once, until all have ended.

`pmem` asks a running session about each request (rules, no model), which is told a new step every
time; `pmem, no session` only passes on. nginx must be installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pmem.proxy.start import Doors  # noqa: E402
from pmem.session import process  # noqa: E402
from pmem.store.project import find_project  # noqa: E402
from pmem.store.settings import Settings  # noqa: E402

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    b"Connection: keep-alive\r\n\r\n"
)
EVENTS = 20
#: Between two events, in seconds.
PAUSE = 0.002
BLOCK = b"data: " + b"x" * 4090 + b"\n\n"
BLOCKS = 1024
NGINX = """\
daemon off; worker_processes 1; pid {place}/pid; error_log {place}/errors;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;
  fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;
  client_max_body_size 0; client_body_buffer_size 4m;
  upstream service {{ server 127.0.0.1:{service}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""


# -- the service -------------------------------------------------------------------------------


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            )
            await reader.readexactly(length)
            writer.write(HEAD)
            if b"/much/" in head:
                for _ in range(BLOCKS):
                    writer.write(b"%x\r\n%b\r\n" % (len(BLOCK), BLOCK))
                    await writer.drain()
            else:
                for _ in range(EVENTS):
                    event = b"data: %d\n\n" % time.monotonic_ns()
                    writer.write(b"%x\r\n%b\r\n" % (len(event), event))
                    await asyncio.sleep(PAUSE)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _serve(listener: socket.socket) -> None:
    async def forever() -> None:
        server = await asyncio.start_server(_answer, sock=listener, limit=1 << 24)
        await server.serve_forever()

    asyncio.run(forever())


# -- the client --------------------------------------------------------------------------------


class Client:
    """One connection that is kept."""

    def __init__(self, url: str) -> None:
        self.parts = urlsplit(url)

    async def open(self) -> Client:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection(
            self.parts.hostname, self.parts.port, limit=1 << 22
        )
        return self

    async def ask(self, path: str, body: bytes) -> tuple[float, list[float], int]:
        """One request: milliseconds to the first event, of each event's way, bytes."""
        head = (
            f"POST {self.parts.path}{path} HTTP/1.1\r\nHost: {self.parts.netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        began = time.monotonic_ns()
        self.writer.write(head.encode() + body)
        status = await self.reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in status.split(b"\r\n")[0], status
        first, ways, size = 0.0, [], 0
        while True:
            length = int(await self.reader.readuntil(b"\r\n"), 16)
            data = await self.reader.readexactly(length + 2)
            now = time.monotonic_ns()
            if not length:
                return first, ways, size
            first = first or (now - began) / 1e6
            size += length
            if b"/much/" not in path.encode():
                ways += [
                    (now - int(event[6:])) / 1e6 for event in data[:-2].split(b"\n\n") if event
                ]


def body(turn: int, kilobytes: int) -> bytes:
    """A conversation of that size; each turn has a step more than the one before."""
    filler = {"role": "user", "content": "x" * (kilobytes * 1024)}
    items: list[dict[str, Any]] = [filler]
    for number in range(turn + 1):
        use = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": "Bash",
            "input": {"command": f"make target{number}"},
        }
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "fine"}
        items += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return json.dumps({"model": "m", "tools": [{"name": "Bash"}], "messages": items}).encode()


# -- the subjects ------------------------------------------------------------------------------


@contextmanager
def subjects(place: Path) -> Iterator[dict[str, str]]:
    """The addresses by which the service is asked, by name."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    port = listener.getsockname()[1]
    service = multiprocessing.get_context("fork").Process(target=_serve, args=(listener,))
    service.start()
    direct = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        stack.callback(service.kill)
        with socket.create_server(("127.0.0.1", 0)) as free:
            nginx_port = free.getsockname()[1]
        config = place / "nginx.conf"
        config.write_text(NGINX.format(place=place, service=port, port=nginx_port))
        nginx = subprocess.Popen(["nginx", "-c", str(config), "-e", str(place / "errors")])
        stack.callback(nginx.terminate)
        plain = Doors()
        plain_url = plain.door(direct)
        stack.callback(plain.open({}, cwd=str(place)).close)
        project = place / "project"
        project.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PMEM", "XDG_"))}
        env = {**kept, "HOME": str(place), "XDG_RUNTIME_DIR": str(place)}
        config_of_session = process.SessionConfig(find_project(project, env), Settings(), "proxy")
        running = process.start(config_of_session, env)
        running.link.wait_ready(10)
        stack.callback(running.link.close)
        whole = Doors()
        whole_url = whole.door(direct)
        stack.callback(whole.open(running.env, cwd=str(project)).close)
        yield {
            "direct": direct,
            "nginx": f"http://127.0.0.1:{nginx_port}",
            "pmem, no session": plain_url,
            "pmem": whole_url,
        }


async def measure(urls: Mapping[str, str], asked: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The figures of each subject."""
    for url in urls.values():  # until each of them serves
        for _ in range(200):
            try:
                client = await Client(url).open()
                await client.ask("/v1/messages", body(0, 1))
                break
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.05)
    clients = {name: await Client(url).open() for name, url in urls.items()}
    firsts: dict[str, list[float]] = {name: [] for name in urls}
    ways: dict[str, list[float]] = {name: [] for name in urls}
    for turn in range(asked.runs + 3):
        for name, client in clients.items():
            first, way, _ = await client.ask("/v1/messages", body(turn, asked.kilobytes))
            if turn >= 3:  # the first ones fill the caches
                firsts[name].append(first)
                ways[name] += way
    speeds: dict[str, list[float]] = {name: [] for name in urls}
    for _ in range(asked.rounds):
        for name, url in urls.items():
            many = [await Client(url).open() for _ in range(asked.streams)]
            began = time.monotonic()
            done = await asyncio.gather(*(one.ask("/much/v1/messages", b"{}") for one in many))
            took = time.monotonic() - began
            speeds[name].append(sum(size for _, _, size in done) / 1e6 / took)
            for one in many:
                one.writer.close()
    base = statistics.median(firsts["direct"])
    return {
        name: {
            "median_ms": round(statistics.median(firsts[name]), 2),
            "added_ms": round(statistics.median(firsts[name]) - base, 2),
            "p99_ms": round(sorted(firsts[name])[int(len(firsts[name]) * 0.99)], 2),
            "event_median_ms": round(statistics.median(ways[name]), 3),
            "event_p99_ms": round(sorted(ways[name])[int(len(ways[name]) * 0.99)], 3),
            "parallel_mb_s": round(statistics.median(speeds[name])),
        }
        for name in urls
    }


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The results as a Markdown table."""
    head = [
        "| | first byte, median ms | added | p99 | an event, median ms | p99 | parallel, MB/s |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = [
        f"| {name} | {r['median_ms']} | {r['added_ms']} | {r['p99_ms']} | {r['event_median_ms']} "
        f"| {r['event_p99_ms']} | {r['parallel_mb_s']} |"
        for name, r in results.items()
    ]
    return "\n".join([*head, *rows])


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--kilobytes", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    if shutil.which("nginx") is None:
        print("nginx is not installed: apt-get install nginx-light", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="proxy-") as place, subjects(Path(place)) as urls:
        results = asyncio.run(measure(urls, asked))
    print(json.dumps(results, indent=2) if asked.json else table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
