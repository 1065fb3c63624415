"""The one protocol of all chat models, and what goes in and out of one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model made, with its arguments as they came."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What is fed back for one call."""

    call_id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn: the user's with texts and tool results, the assistant's with text and calls.

    `cached` says that all up to the end of this message comes again in a later request.
    """

    role: Literal["user", "assistant"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a model. `phase` is `manage` or `decide`; `timeout` is in seconds, all tries.

    Without `temperature` the provider's own counts.
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    phase: str = ""
    timeout: float = 60.0
    max_tokens: int = 4096
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more calls: `input` is what was neither read from a cache nor written to
    one. `money` is in US dollars where the provider tells it, else None."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    money: float | None = None

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        told = [m for m in (self.money, other.money) if m is not None]
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            sum(told) if told else None,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: text, native tool calls, usage; `stop` as the provider words it."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    stop: str = ""


class Trouble(StrEnum):
    """Why a call failed. The first three stay as they are until the user changes something."""

    KEY = "key"
    MODEL = "model"
    SETUP = "setup"
    #: The request itself was refused; another one may pass.
    REFUSED = "refused"
    #: The endpoint takes no tools, or no temperature: ask again without.
    NO_TOOLS = "no_tools"
    NO_TEMPERATURE = "no_temperature"
    BUSY = "busy"
    NETWORK = "network"
    TIME = "time"


class ModelError(Exception):
    """A call failed. The message says what happened and what to do, in one sentence."""

    def __init__(self, trouble: Trouble, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.retry_after = retry_after

    @property
    def lasting(self) -> bool:
        """Whether asking again is useless until the user has changed something."""
        return self.trouble in (Trouble.KEY, Trouble.MODEL, Trouble.SETUP)

    @property
    def passing(self) -> bool:
        """Whether the same request may pass in a moment."""
        return self.trouble in (Trouble.BUSY, Trouble.NETWORK)


class ChatModel(Protocol):
    """A model that answers one conversation at a time.

    `name` is what the user called it (`anthropic:NAME`); `native_tools` says that it takes
    tools as such, otherwise they stand in the prompt as text.
    """

    name: str
    native_tools: bool

    def ask(self, request: Request) -> Reply:
        """Answer. Raises ModelError, after retries where they may help."""
        ...

    def close(self) -> None:
        """End what still runs; a call in flight fails. May be called from another thread."""
        ...
