"""A key is found and no model is named: whether one may be the memory here, asked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pmem.cli.environment import Environment

if TYPE_CHECKING:
    from pmem.store.project import Project
    from pmem.store.settings import Settings


@dataclass(frozen=True, slots=True)
class Offer:
    """A model to offer where `key` is set. With `elsewhere` set the key is for an endpoint whose
    models and prices nobody knows here; `package` is what the model needs beside pmem."""

    key: str
    elsewhere: str
    model: str
    package: str = ""


OFFERS = (
    Offer("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "anthropic:claude-sonnet-5-5"),
    Offer("OPENAI_API_KEY", "OPENAI_BASE_URL", "openai:gpt-6-sol", "openai"),
)


def offer_for(env: Mapping[str, str]) -> Offer | None:
    """What can be offered in this environment."""
    for offer in OFFERS:
        here = env.get(offer.key) and not env.get(offer.elsewhere)
        if here and (not offer.package or find_spec(offer.package) is not None):
            return offer
    return None


def accepted(environment: Environment, project: Project, settings: Settings) -> bool:
    """Whether the user names the model offered, now; the project's settings have it then.

    Asked on a terminal, once in a project; elsewhere one line tells how, once as well. Nobody is
    asked who has chosen an arm, or said never.
    """
    offer = offer_for(environment.env)
    chosen = settings.model or settings.sources.get("arm") != "default"
    if offer is None or chosen or project.read_only:
        return False
    from pmem.cli.config import change
    from pmem.cli.consent import answered, explained, say_yes
    from pmem.store.consent import Offered
    from pmem.store.places import state_home

    offered = Offered(project, state_home(environment.env)[0])
    what = "asked" if environment.terminal and environment.stderr_isatty else "told"
    if not offered.note(what):
        return False
    if what == "told":
        environment.say(
            f"rules only; {offer.key} is set, so a model could remember here:"
            f" pmem config model {offer.model}, then pmem config consent yes"
        )
        return False
    named = settings._replace(model=offer.model)
    for line in explained(environment, named, f"{offer.key} is set: memory could ask"):
        environment.write_words(line)
    answer = answered(environment, "Let it be asked in this project? [y]es, [N]o, ne[v]er: ")
    if answer == "yes":
        change(environment, project, "model", offer.model, user=False)
        say_yes(environment, project, named)
        return True
    if answer == "never":
        offered.never()
    environment.say(f"rules only; pmem config model {offer.model} changes that")
    return False
