"""What plays memory in a session: reflexes at once, and a model where the user lets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmem.memory.arms import WITH_MODEL, arm_named
from pmem.memory.protocol import MemoryAgent
from pmem.store import places
from pmem.store.consent import consented
from pmem.store.project import Project
from pmem.store.settings import Settings

if TYPE_CHECKING:
    from pmem.session.thinking import Thinking

#: The texts of a user's own, in the place of ours.
PROMPTS = "prompts"


@dataclass(frozen=True, slots=True)
class Playing:
    """`note` is a sentence for the user, "" if all is as it was asked for."""

    memory: MemoryAgent | None
    thinking: Thinking | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """As the start line tells it."""
        if self.thinking is None:
            return self.memory.name if self.memory is not None else "off"
        return f"{self.thinking.mind.agent.name} ({self.thinking.mind.agent.model.name})"


def playing(
    settings: Settings,
    project: Project,
    env: Mapping[str, str],
    *,
    keep: Callable[[Mapping[str, Any]], None],
    redact: Callable[[str], str],
) -> Playing:
    """The parts of the arm in force. What cannot be had is told, and rules play in its place.

    `keep` stores a raw record of a call, `redact` takes secrets out of a text.
    """
    arm = chosen(settings)
    if arm not in WITH_MODEL:
        try:
            return Playing(arm_named(arm, without=settings.without).reflexes)
        except ValueError as error:
            if not settings.without:
                raise
            return Playing(arm_named(arm).reflexes, note=f"without: {error}; all rules are on")
    try:
        return _with_model(settings._replace(arm=arm), project, env, keep, redact)
    except ValueError as error:
        return Playing(arm_named("rules").reflexes, note=f"{error}; rules only this time")


def chosen(settings: Settings) -> str:
    """The arm by name: a script of a memory agent plays in place of whatever the arm says."""
    if settings.arm != "off" and plays_memory(settings.model):
        return settings.model
    return settings.arm


def plays_memory(model: str) -> bool:
    """Whether `scripted:FILE` scripts a memory agent (a list) and not a model (an object)."""
    if not model.startswith("scripted:"):
        return False
    try:
        with Path(model.removeprefix("scripted:")).expanduser().open(encoding="utf-8") as file:
            return not file.read(4096).lstrip().startswith("{")
    except (OSError, UnicodeDecodeError):
        return True  # its own reader says what is wrong


def _with_model(
    settings: Settings,
    project: Project,
    env: Mapping[str, str],
    keep: Callable[[Mapping[str, Any]], None],
    redact: Callable[[str], str],
) -> Playing:
    if not settings.model:
        raise ValueError(f"the arm {settings.arm} needs a model (pmem config model PROVIDER:NAME)")
    if not consented(project, settings.model, settings.base_url):
        raise ValueError(
            f"{settings.model} is not asked before you say yes here (pmem config consent yes)"
        )
    from pmem.models.named import model_named
    from pmem.models.prices import NAME, load_prices
    from pmem.session.ledger import Ledger, Limits
    from pmem.session.mind import Mind
    from pmem.session.thinking import Thinking
    from pmem.store.spending import Spending

    arm = arm_named(
        settings.arm,
        model_named(settings.model, env, settings.base_url),
        pure=settings.pure,
        prompts=places.beside_config(env, PROMPTS),
        timeout=settings.timeout,
        redact=redact,
        without=settings.without,
    )
    assert arm.mind is not None
    ledger = Ledger(
        settings.model,
        load_prices(places.beside_config(env, NAME)),
        Limits(
            settings.session_tokens, settings.session_money, settings.day_tokens, settings.day_money
        ),
        day=Spending(places.state_home(env)[0]),
        keep=keep,
        redact=redact,
    )
    mind = Mind(arm.mind, sync=settings.mode == "sync", timeout=settings.timeout)
    return Playing(arm.reflexes, Thinking(mind, ledger))
