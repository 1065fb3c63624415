"""Link: the line between the terminal process and the session process.

JSON objects, one a line, over a connected stream socket. Neither side may make the
other wait: sending queues, receiving takes what is there, and a peer that is gone or has
stopped reading turns the link off instead of holding up the terminal.
"""

from __future__ import annotations

import select
import socket
import time
from typing import Any

#: Bytes that may wait for a peer that does not read. Past it the peer counts as gone.
MAX_WAITING = 8 << 20
#: Bytes one message may have on the wire.
MAX_MESSAGE = 4 << 20

Message = dict[str, Any]


class Link:
    """One end of the line. `alive` turns False for good when the peer is gone; `lost` says why.

    `ready` is the peer's message of that type, once it has come, whoever received it.
    """

    def __init__(self, sock: socket.socket) -> None:
        """Take over a connected stream socket; it is made non-blocking."""
        sock.setblocking(False)
        self._socket = sock
        self._outgoing = bytearray()
        self._incoming = bytearray()
        self._inbox: list[Message] = []
        self.lost = ""
        self.ready: Message | None = None

    @property
    def alive(self) -> bool:
        """Whether the peer can still be reached."""
        return not self.lost

    @property
    def dead(self) -> bool:
        """Whether the link is off for good."""
        return bool(self.lost)

    @property
    def wants_write(self) -> bool:
        """Whether queued bytes wait for the socket to become writable (then call `flush`)."""
        return bool(self._outgoing) and self.alive

    @property
    def ending(self) -> bool:
        """Whether the peer is gone, or its word that it ends waits unread; takes nothing out."""
        if self.lost:
            return True
        try:
            waiting = self._socket.recv(1 << 16, socket.MSG_PEEK)
        except OSError:
            return False
        return not waiting or b'"type": "end"' in waiting

    def fileno(self) -> int:
        """The descriptor to poll, -1 once the link is off."""
        return self._socket.fileno()

    def send(self, message: Message) -> bool:
        """Queue one message and send what the socket takes now; never blocks.

        False if the link is off, or goes off because the peer has stopped reading.
        """
        if not self.alive:
            return False
        import json

        line = json.dumps(message).encode("ascii")  # escaped, lone surrogates survive
        if len(line) >= MAX_MESSAGE:
            raise ValueError(f"a message of {len(line)} bytes is too large for the link")
        self._outgoing += line + b"\n"
        self.flush()
        if len(self._outgoing) > MAX_WAITING:
            self._turn_off("it stopped reading")
        return self.alive

    def flush(self) -> None:
        """Send queued bytes as far as the socket takes them now."""
        while self._outgoing and self.alive:
            try:
                sent = self._socket.send(self._outgoing)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                # What the peer said before it went is still to be read.
                self._read_available()
                self._turn_off(error.strerror or "it is gone")
                return
            del self._outgoing[:sent]

    def receive(self) -> list[Message]:
        """The messages that have arrived, in order; [] if there is none. Never blocks."""
        if self.alive:
            self._read_available()
        messages, self._inbox = self._inbox, []
        return messages

    def wait_for(self, kind: str, timeout: float) -> Message | None:
        """Block up to `timeout` seconds for a message of this type.

        Messages of other types stay for `receive`. None on time-out or when the link is off.
        """
        deadline = time.monotonic() + timeout
        while True:
            if self.alive:
                self.flush()
                self._read_available()
            for index, message in enumerate(self._inbox):
                if message.get("type") == kind:
                    return self._inbox.pop(index)
            left = deadline - time.monotonic()
            if left <= 0 or not self.alive:
                return None
            _wait(self.fileno(), self.wants_write, left)

    def wait_ready(self, timeout: float) -> Message | None:
        """Block up to `timeout` seconds for the session's `ready`; it hears that it is wanted."""
        if timeout > 0 and self.ready is None:
            self.send({"type": "wanted"})
        return self.wait_for("ready", timeout)

    def ask_end(self, exit_code: int, timeout: float = 2.0) -> Message | None:
        """Tell the session that the child ended and wait for its `summary`, None if none came."""
        self.send({"type": "end", "exit_code": exit_code})
        return self.wait_for("summary", timeout)

    def drain(self, timeout: float) -> bool:
        """Block up to `timeout` seconds until all that was queued is sent; whether it is."""
        deadline = time.monotonic() + timeout
        while self.wants_write:
            self.flush()
            left = deadline - time.monotonic()
            if left <= 0:
                break
            if self.wants_write:
                _wait(self.fileno(), True, left)
        return self.alive and not self._outgoing

    def close(self) -> None:
        """Turn the link off; the peer sees the end of the file."""
        self._turn_off(self.lost or "closed")

    def _read_available(self) -> None:
        while self.alive:
            try:
                chunk = self._socket.recv(65536)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                self._turn_off(error.strerror or "it is gone")
                return
            if not chunk:
                self._turn_off("it ended")
                return
            self._incoming += chunk
            if b"\n" in chunk:
                self._split_lines()
            if len(self._incoming) > MAX_MESSAGE:
                self._turn_off("it sent something that is no message")

    def _split_lines(self) -> None:
        import json

        *lines, rest = self._incoming.split(b"\n")
        self._incoming = rest
        for line in lines:
            try:
                message = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                self._inbox.append(message)
                if message.get("type") == "ready":
                    self.ready = message

    def _turn_off(self, why: str) -> None:
        self.lost = self.lost or why
        self._outgoing.clear()
        self._socket.close()


def pair() -> tuple[Link, Link]:
    """Two connected links; for a fork, pass the sockets of `socket.socketpair()` yourself."""
    ours, theirs = socket.socketpair()
    return Link(ours), Link(theirs)


def _wait(fd: int, for_write: bool, seconds: float) -> None:
    if hasattr(select, "poll"):
        poller = select.poll()
        poller.register(fd, select.POLLIN | (select.POLLOUT if for_write else 0))
        poller.poll(max(1, int(seconds * 1000)))
    else:
        select.select([fd], [fd] if for_write else [], [], seconds)
