"""The wire formats there are. Adding one is adding a file and a line here."""

from __future__ import annotations

from pmem.proxy.anthropic import ANTHROPIC
from pmem.proxy.chat import CHAT
from pmem.proxy.gemini import GEMINI
from pmem.proxy.responses import RESPONSES
from pmem.proxy.wire import Wire

WIRES: tuple[Wire, ...] = (ANTHROPIC, CHAT, RESPONSES, GEMINI)


def wire_of(path: str) -> Wire | None:
    """The format of a request by its path (without the query), None for any other request."""
    return next((wire for wire in WIRES if wire.serves(path)), None)
