"""Memory on the wire: a request is read, the session told, words put in; a reply is read.

Whatever goes wrong here, a request goes on as it came.
"""

from __future__ import annotations

import asyncio
import traceback
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pmem.proxy import body
from pmem.proxy.conversation import Conversations, News, Turn
from pmem.proxy.wire import Wire

#: A longer reply is not read, in bytes.
MAX_REPLY = 16 * 1024 * 1024


class Link(Protocol):
    """Who is told what is new in a lane, and answers with the words for its model, "" for none."""

    async def tell(self, lane: str | None, news: Sequence[News]) -> str: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it goes on, and the turn its reply belongs to."""

    data: bytes
    wire: Wire
    turn: Turn | None = None


class Memory:
    """What one proxy knows of the conversations that go through it.

    Without a `link` it listens to nobody and says nothing. `complain` gets the text of an
    unexpected error, in which nothing of a request stands. `after_another`: this process took the
    place of one that was killed.
    """

    def __init__(
        self,
        link: Link | None,
        complain: Callable[[str], None],
        *,
        transient: bool = False,
        after_another: bool = False,
    ) -> None:
        self._link, self._complain = link, complain
        self._conversations = Conversations(transient=transient, after_another=after_another)
        self._known: body.Known = {}
        #: A session hears things in their order.
        self._order = asyncio.Lock()
        self._hearing: set[asyncio.Task[None]] = set()

    async def asked(self, wire: Wire, data: bytes) -> Asked:
        """The request with the words that stand in it: the very same bytes if there are none."""
        if self._link is None:
            return Asked(data, wire)
        try:
            read = body.read(wire, data, self._known)
        except ValueError:  # the service will say so
            return Asked(data, wire)
        try:
            async with self._order:
                return await self._taken_in(read, Asked(data, wire), self._link)
        except Exception as error:
            self._complain(trace(error))
            return Asked(data, wire)

    async def _taken_in(self, read: body.Body | None, asked: Asked, link: Link) -> Asked:
        turn = self._conversations.turn(read) if read is not None else None
        if read is None or turn is None:
            return asked
        if turn.news:
            words = await link.tell(turn.lane.id, turn.news)
            if words:
                turn.lane.waiting.append(words)
            together = "\n\n".join(turn.lane.waiting)
            if together and self._conversations.say(read, together):
                turn.lane.waiting.clear()
        placed = self._conversations.words_in(read)
        return Asked(read.with_words(placed) if placed else asked.data, asked.wire, turn)

    def hear(self, asked: Asked, data: bytes, kind: str, encoding: str) -> None:
        """A reply is whole: read it beside what else there is to do.

        `kind` and `encoding` are its content type and its compression.
        """
        if asked.turn is None or len(data) > MAX_REPLY:
            return
        task = asyncio.ensure_future(self._heard(asked, asked.turn, data, kind, encoding))
        self._hearing.add(task)
        task.add_done_callback(self._hearing.discard)

    async def _heard(self, asked: Asked, turn: Turn, data: bytes, kind: str, encoding: str) -> None:
        try:
            plain = uncompressed(data, encoding)
            if plain is None or self._link is None:
                return
            entries = asked.wire.reply(plain, "event-stream" in kind)
        except Exception:  # an error page, a reply that broke off: nothing that an agent acts on
            return
        try:
            async with self._order:
                news = self._conversations.replied(turn, entries or ())
                words = await self._link.tell(turn.lane.id, news) if news else ""
                if words:
                    turn.lane.waiting.append(words)
        except Exception as error:
            self._complain(trace(error))


def uncompressed(data: bytes, encoding: str) -> bytes | None:
    """A reply's bytes as they were before they were compressed, None if that cannot be told."""
    match encoding.strip().lower():
        case "" | "identity":
            return data
        case "gzip" | "x-gzip" | "deflate":
            unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)
            return unpack.decompress(data, MAX_REPLY)
    return None


def trace(error: BaseException) -> str:
    """Where an error came from, without its message: that may quote a request."""
    where = "".join(traceback.format_tb(error.__traceback__))
    return f"{where}{type(error).__name__} in the model proxy\n"
