"""The session process: one loop over the terminal's link and the hook clients' socket."""

from __future__ import annotations

import hmac
import selectors
import socket
import time
import traceback
from collections.abc import Callable
from typing import Any

from pmem.agents import registry
from pmem.agents.protocol import AgentAdapter
from pmem.core.event import SILENT, Answer
from pmem.session.beside import Beside
from pmem.session.guests import as_guest
from pmem.session.leash import Leash
from pmem.session.outside import Channel
from pmem.session.peer import same_user
from pmem.session.session import MAX_LANES, Session
from pmem.session.shell_intake import prohibits, take
from pmem.store.bank_file import BankFile
from pmem.terminal.link import Link

#: The largest request a hook client may send (bytes); a larger one is dropped unanswered.
MAX_REQUEST = 32 * 1024 * 1024
#: A client that sends nothing more of its request for this many seconds is dropped.
CLIENT_LIMIT = 2.0
#: At the end, requests that were sent by then are taken in for so many seconds at most.
LAST_LOOK = 1.0
#: How often a process on a leash is looked at, in seconds.
LEASH_LOOK = 0.5
#: First word of the wire; a client of another version is not answered.
WIRE = b"pmem1"
#: In the place of an agent's name: asks whether there is a session; the answer is the same word.
HELLO = b"hello"


class Server:
    """Serves one session until the terminal process is gone or says `end`, or until the process
    on the leash ends.

    `complain` receives the text of an unexpected error; it never reaches the agent.
    """

    def __init__(
        self,
        session: Session,
        bank_file: BankFile,
        listener: socket.socket,
        link: Link,
        token: str,
        complain: Callable[[str], None],
        leash: Leash | None = None,
    ) -> None:
        self.session = session
        self.bank_file = bank_file
        self.listener = listener
        self.link = link
        self.token = token.encode()
        self.complain = complain
        self.leash = leash
        self.clients: dict[socket.socket, tuple[bytearray, float]] = {}
        self.selector = selectors.DefaultSelector()
        self.beside = Beside()
        self.running = True
        self.adapters: dict[str, AgentAdapter] = {}
        self.thinking = session.outside.thinking
        if self.thinking is not None:
            self.thinking.given_up = lambda: link.ending
            self.thinking.complain = complain

    def run(self, first: bytes = b"") -> None:
        """Serve; returns when the session is over. The bank is flushed by the caller.

        `first` is a request that came before there was a socket; nobody waits for its answer.
        """
        if first:
            self._answered(first)
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ)
        if self.link.alive:
            self.selector.register(self.link, selectors.EVENT_READ)
        if self.thinking is not None:
            self.selector.register(self.thinking.mind, selectors.EVENT_READ)
        self.selector.register(self.beside, selectors.EVENT_READ)
        self.bank_file.patient, self.bank_file.aside = True, self.beside.do
        while self.running and self._watches_link():
            ready = self.selector.select(self._patience())
            for key, _ in ready:
                if key.fileobj is self.listener:
                    self._accept()
                elif key.fileobj is self.link:
                    self._link_ready()
                elif self.thinking is not None and key.fileobj is self.thinking.mind:
                    self.session.take_thoughts()
                elif key.fileobj is self.beside:
                    self.beside.heard()
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    self._client_ready(key.fileobj)
            self._drop_slow_clients()
            self._tend_bank()
            if self.leash is not None and not self.leash.holds():
                self.running = False
        self._take_the_rest()

    def _tend_bank(self) -> None:
        """The bank's file is read and written beside the answers; none waits for it."""
        try:
            self.bank_file.collect()
            if self.bank_file.due(time.monotonic()):
                self.bank_file.tend()
        except Exception:
            self.complain(traceback.format_exc())

    def _take_the_rest(self) -> None:
        """Take in what was sent before the end, though nobody may wait for the answer."""
        end = time.monotonic() + LAST_LOOK
        while time.monotonic() < end:
            ready = [key.fileobj for key, _ in self.selector.select(0.05 if self.clients else 0)]
            for one in ready:
                if one is self.listener:
                    self._accept()
                elif isinstance(one, socket.socket) and one in self.clients:
                    self._client_ready(one)
            if not self.clients and self.listener not in ready:
                return

    def _patience(self) -> float | None:
        """Seconds until something has to be done without an event; None: nothing is waiting."""
        if self.clients:
            return 0.1
        wait = self.bank_file.wait(time.monotonic())
        if self.leash is None:
            return wait
        return LEASH_LOOK if wait is None else min(wait, LEASH_LOOK)

    # -- the terminal -----------------------------------------------------------------------

    def _watches_link(self) -> bool:
        """Whether the terminal is still there to be heard; sending may have found it gone."""
        if self.link.dead:
            return False
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.link.wants_write else 0)
        self.selector.modify(self.link, wanted)
        return True

    def _link_ready(self) -> None:
        self.link.flush()
        for message in self.link.receive():
            self._message(message)
        if self.link.dead:
            self.running = False

    def _message(self, message: dict[str, Any]) -> None:
        if message.get("type") == "end":
            self.running = False
            return
        answer = SILENT
        try:
            answer = take(self.session, message)
        except Exception:
            self.complain(traceback.format_exc())
        if "n" in message:
            said = {"banner": banner(answer), "prohibits": prohibits(self.session)}
            self.link.send({"type": "answer", "n": message["n"], **said})

    # -- hook clients -----------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            client, _ = self.listener.accept()
        except OSError:
            time.sleep(0.02)  # out of descriptors: who waits stays readable all the while
            return
        if not same_user(client):
            client.close()
            return
        client.setblocking(False)
        self.clients[client] = (bytearray(), time.monotonic() + CLIENT_LIMIT)
        self.selector.register(client, selectors.EVENT_READ)

    def _client_ready(self, client: socket.socket) -> None:
        request, _ = self.clients[client]
        try:
            part = client.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            self._drop(client)
            return
        if part:
            request += part
            self.clients[client] = request, time.monotonic() + CLIENT_LIMIT
            if len(request) > MAX_REQUEST:
                self._drop(client)
            return
        reply = self._answered(bytes(request))
        try:
            client.settimeout(0.3)
            client.sendall(reply)
        except OSError:
            pass
        self._drop(client)

    def _answered(self, request: bytes) -> bytes:
        try:
            return self.reply(request)
        except Exception:
            self.complain(traceback.format_exc())
            return b""

    def reply(self, request: bytes) -> bytes:
        """The bytes for the hook's stdout; b"" for silence and for anything not understood."""
        head, _, payload = request.partition(b"\n")
        words = head.split(b" ")
        if len(words) != 3 or words[0] != WIRE:
            return b""
        token, _, guest = words[1].partition(b"@")
        if not hmac.compare_digest(token, self.token):
            return b""
        name = guest.decode("ascii", "replace")
        if name:
            self.session.guests.heard(name, time.time())
        if words[2] == HELLO:
            return HELLO
        adapter = self._adapter(words[2].decode("ascii", "replace"), name)
        channel = Channel(channel_name(adapter), can_hold=adapter.can_hold)
        answer = SILENT
        for event in adapter.events(payload):
            latest = self.session.handle(as_guest(event, name) if name else event, channel)
            answer = latest if latest.reminder is not None else answer
        if not adapter.shows and (unseen := banner(answer)) is not None:
            self.link.send({"type": "banner", "banner": unseen})
        return adapter.answer(payload, answer)

    def _adapter(self, agent: str, guest: str) -> AgentAdapter:
        """The adapter of an agent; a guest's own one, since it remembers what it was told."""
        if not guest:
            return registry.get(agent)
        if guest not in self.adapters:
            if len(self.adapters) >= MAX_LANES:
                del self.adapters[next(iter(self.adapters))]
            self.adapters[guest] = type(registry.get(agent))()
        return self.adapters[guest]

    def _drop_slow_clients(self) -> None:
        """Drop who is silent; if it was this loop that was slow, what they sent waits here."""
        now = time.monotonic()
        for client in [c for c, (_, limit) in self.clients.items() if now > limit]:
            had = -1
            while client in self.clients and len(self.clients[client][0]) > had:
                had = len(self.clients[client][0])
                self._client_ready(client)
            if client in self.clients and now > self.clients[client][1]:
                self._drop(client)

    def _drop(self, client: socket.socket) -> None:
        self.selector.unregister(client)
        del self.clients[client]
        client.close()


def channel_name(adapter: AgentAdapter) -> str:
    """How what an adapter says reaches its agent: by a hook, or by the model proxy."""
    return "proxy" if adapter.name in registry.SPEAKERS else f"hook:{adapter.name}"


def banner(answer: Answer) -> dict[str, Any] | None:
    """An answer as the terminal's banner draws it, None for silence and for the agent alone."""
    if answer.reminder is None or not answer.to_human:
        return None
    return {
        "text": answer.reminder.text,
        "held": answer.hold,
        "citations": [
            {"id": c.id, "content": c.content, "steps": list(c.steps)} for c in answer.citations
        ],
    }
