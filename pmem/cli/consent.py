"""Before a model is asked in a project: what it is, what it costs, what it is sent."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pmem.store.project import Project
    from pmem.store.settings import Settings

#: What is explained is not wider than this, in cells.
WIDTH = 100
YES = frozenset({"y", "yes", "j", "ja", "o", "oui", "s", "si", "예", "네", "はい", "是"})
NEVER = frozenset({"v", "never"})
#: The arms that need no model.
EMBEDDED = frozenset({"off", "rules"})


def settled(
    environment: Environment,
    project: Project,
    settings: Settings,
    *,
    yes: bool,
    quiet: bool,
    tells: bool = True,
) -> Settings:
    """The settings to start with: with a model only if the user lets it be asked here.

    On a terminal it is asked once; elsewhere one line says how to say yes, and rules play. Of a
    program that tells pmem nothing (`tells` is false) nothing would be sent: nobody is asked.
    Raises Trouble where the arm needs a model and none is named.
    """
    if settings.arm in EMBEDDED or settings.model.startswith("scripted:"):
        return settings
    if not settings.model:
        raise Trouble(
            f"the arm {settings.arm} needs a model",
            "name one with --model anthropic:NAME, or use --arm rules",
            Exit.USAGE,
        )
    from pmem.store.consent import consented, decline, declined

    if yes:
        say_yes(environment, project, settings)
        return settings
    if consented(project, settings.model, settings.base_url):
        return settings
    rules = settings._replace(arm="rules")
    if not tells or declined(project, settings.model, settings.base_url):
        return rules
    if not environment.terminal:
        if not quiet:
            environment.say(
                f"rules only: {settings.model} is not asked before you say yes;"
                " pmem config consent yes"
            )
        return rules
    for line in explained(environment, settings):
        environment.write_words(line)
    if answered(environment, "Let it be asked in this project? [y/N] ") == "yes":
        say_yes(environment, project, settings)
        return settings
    with contextlib.suppress(OSError):
        decline(project, settings.model, settings.base_url)
    environment.say("rules only; pmem config consent yes changes that")
    return rules


def explained(
    environment: Environment, settings: Settings, begin: str = "memory would ask"
) -> list[str]:
    """What the user must know: the model, the price, what is sent; as wide as the terminal."""
    from pmem.models.prices import NAME, load_prices
    from pmem.store.places import beside_config
    from pmem.terminal.cells import wrap

    price = load_prices(beside_config(environment.env, NAME)).price(settings.model)
    cost = (
        "its price is not known to pmem"
        if price is None
        else f"${price.input:g} for a million tokens in, ${price.output:g} out"
    )
    where = f" at {settings.base_url}" if settings.base_url else ""
    bounds: Sequence[float] = (settings.session_money, settings.day_money)
    words = "${:g} a {}"
    if price is None:  # then only tokens are limited
        bounds, words = (settings.session_tokens, settings.day_tokens), "{:,} tokens a {}"
    both = zip(bounds, ("session", "day"), strict=True)
    limits = " and ".join(words.format(bound, what) for bound, what in both if bound)
    limits = f"at most {limits}" if limits else "without a limit"
    told = (
        f"{begin} {settings.model}{where} ({cost}; {limits}).\n"
        "It is sent the task, rule files, the last steps with their outputs, and the bank; values"
        " that look like secrets are taken out, commands named `private` left out."
    )
    lines = wrap(told, min(environment.columns, WIDTH) - len("pmem: "))
    return [("pmem: " if n == 0 else "      ") + line for n, line in enumerate(lines)]


def say_yes(environment: Environment, project: Project, settings: Settings) -> None:
    """Note the user's yes. Raises Trouble if it cannot be written."""
    from pmem.store.consent import consent

    try:
        consent(project, settings.model, settings.base_url)
    except OSError as error:
        raise Trouble(f"cannot note your yes in {project.state}: {error.strerror}") from None


def answered(environment: Environment, question: str) -> str:
    """What the user says to a question: `yes`, `never`, and for anything else `no`."""
    try:
        environment.stderr.write(question)
        environment.stderr.flush()
        answer = environment.stdin.readline().strip().casefold()
    except (OSError, ValueError):
        return "no"
    return "yes" if answer in YES else "never" if answer in NEVER else "no"
