"""The proxy's server: requests come in on this machine and go on to their services.

Bytes are passed on as they come, in both directions; a side that is slow slows the other down. A
client that goes away takes its request with it, a service that breaks off breaks off here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from pmem.proxy.formats import wire_of
from pmem.proxy.memory import MAX_REPLY, Asked, Memory
from pmem.proxy.routes import HOP_BY_HOP, LOCAL, is_local, upstream_of

#: The longest line and the longest header, in bytes.
MAX_LINE = 128 * 1024
#: An agent may think for a while between two requests, in seconds.
KEEP_ALIVE = 600.0
#: Files with further certificates that agents are told of.
CERTIFICATES = ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
#: What an agent's own client would send, and ours must not.
_NOT_OURS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class Proxy:
    """Passes requests on by `routes` (prefix here to address there), with memory on the wire.

    `also` is another name than this machine's own by which it may be asked.
    """

    def __init__(self, routes: Mapping[str, str], memory: Memory, also: str = "") -> None:
        self._routes, self._memory = routes, memory
        self._names = {*LOCAL, also} - {""}
        self._client: aiohttp.ClientSession | None = None

    async def start(self, sock: object) -> web.ServerRunner:
        """Serve on a socket that listens already; returns what is to be cleaned up."""
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=certificates(os.environ)),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_read=None),
            auto_decompress=False,
            skip_auto_headers=_NOT_OURS,
            max_line_size=MAX_LINE,
            max_field_size=MAX_LINE,
        )
        server = web.Server(
            self.handle,
            handler_cancellation=True,
            auto_decompress=False,
            access_log=None,
            keepalive_timeout=KEEP_ALIVE,
            max_line_size=MAX_LINE,
            max_field_size=MAX_LINE,
        )
        runner = web.ServerRunner(server)
        await runner.setup()
        await web.SockSite(runner, sock).start()  # type: ignore[arg-type]
        return runner

    async def close(self) -> None:
        """Let go of every connection out there."""
        if self._client is not None:
            await self._client.close()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request, from its first byte to the last one of its reply."""
        if not is_local(request.headers.get("Host"), self._names):
            return words(403, "pmem proxy: it serves this machine only, as 127.0.0.1")
        target = upstream_of(request.raw_path, self._routes)
        if target is None:
            return words(404, "pmem proxy: nothing is served at this address")
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return words(426, "pmem proxy: no WebSocket here; use HTTP")
        return await self._passed_on(request, target)

    async def _passed_on(self, request: web.BaseRequest, target: str) -> web.StreamResponse:
        assert self._client is not None
        await welcome(request)
        asked, data = await self._body(request)
        headers = passed(request.headers, without=("host", "expect"))
        if asked is not None:
            headers["Content-Length"] = str(len(asked.data))
        url = URL(target, encoded=True)
        try:
            answer = await self._client.request(
                request.method,
                url,
                headers=headers,
                data=data,
                allow_redirects=False,
                proxy=forward_proxy(target),
            )
        except aiohttp.ClientConnectorError as error:
            reason = getattr(error, "strerror", "") or type(error).__name__
            return words(502, f"pmem proxy: {url.host} cannot be reached: {reason}")
        except aiohttp.ClientError:
            return broken_off(request)
        try:
            return await self._answered(request, answer, asked)
        except aiohttp.ClientError:
            return broken_off(request)
        finally:
            answer.close()

    async def _body(
        self, request: web.BaseRequest
    ) -> tuple[Asked | None, bytes | AsyncIterator[bytes] | None]:
        """What is asked, and the body to send; one that nobody reads here is passed on in parts."""
        if not request.body_exists:
            return None, None
        wire = wire_of(request.path) if request.method == "POST" else None
        packed = request.headers.get("Content-Encoding", "identity").lower() != "identity"
        if wire is None or packed:
            return None, request.content.iter_any()
        read = b"".join([part async for part in request.content.iter_any()])
        asked = await self._memory.asked(wire, read)
        return asked, asked.data

    async def _answered(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse, asked: Asked | None
    ) -> web.StreamResponse:
        response = web.StreamResponse(
            status=answer.status, reason=answer.reason, headers=passed(answer.headers)
        )
        await response.prepare(request)
        kept: list[bytes] = []
        size = 0
        hears = asked is not None and asked.turn is not None and answer.status == 200
        async for part in answer.content.iter_any():
            await response.write(part)
            size += len(part)
            if hears and size <= MAX_REPLY:
                kept.append(part)
        await response.write_eof()
        if hears and asked is not None and size <= MAX_REPLY:
            kind, encoding = (answer.headers.get(f"Content-{n}", "") for n in ("Type", "Encoding"))
            self._memory.hear(asked, b"".join(kept), kind, encoding)
        return response


def passed(headers: Mapping[str, str], without: tuple[str, ...] = ()) -> CIMultiDict[str]:
    """The headers that belong to the message, in their order, repeated ones too."""
    named = headers.get("Connection", "")
    dropped = {*HOP_BY_HOP, *without, *(name.strip().lower() for name in named.split(","))}
    return CIMultiDict((k, v) for k, v in headers.items() if k.lower() not in dropped)


async def welcome(request: web.BaseRequest) -> None:
    """Tell a client that asks before it sends a large body to go on (RFC 9110, 10.1.1)."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0


def words(status: int, text: str) -> web.Response:
    """A plain answer of the proxy's own."""
    return web.Response(status=status, text=text + "\n")


def broken_off(request: web.BaseRequest) -> web.StreamResponse:
    """End the connection as the service ended it: without a proper end."""
    if request.transport is not None:
        request.transport.abort()
    raise asyncio.CancelledError


def certificates(env: Mapping[str, str]) -> ssl.SSLContext:
    """What this machine trusts, and the files its user named for agents."""
    context = ssl.create_default_context()
    for name in CERTIFICATES:
        if env.get(name):
            with contextlib.suppress(OSError):
                context.load_verify_locations(env[name])
    return context


def forward_proxy(target: str) -> str | None:
    """The proxy by which this machine reaches an address (`HTTPS_PROXY` and its like)."""
    from urllib.request import (  # type: ignore[attr-defined]
        getproxies_environment,
        proxy_bypass_environment,
    )

    parts = urlsplit(target)
    found = getproxies_environment()
    if proxy_bypass_environment(parts.netloc, found):
        return None
    chosen = found.get(parts.scheme) or found.get("all")
    return chosen if chosen and chosen.startswith("http") else None
