"""Before a model is asked in a project: what it is, what it costs, what it is sent."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble

if TYPE_CHECKING:
    from pmem.store.project import Project
    from pmem.store.settings import Settings

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
    if settings.arm == "mem0":
        raise Trouble(
            "the arm mem0 is for evaluation only", "use --arm selective or rules", Exit.USAGE
        )
    if not settings.model:
        raise Trouble(
            f"the arm {settings.arm} needs a model",
            "name one with --model anthropic:NAME, or use --arm rules",
            Exit.USAGE,
        )
    from pmem.store.consent import consented, declined

    if yes:
        say_yes(environment, project, settings)
        return settings
    if consented(project, settings.model, settings.base_url):
        return settings
    rules = replace(settings, arm="rules")
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
    return settings if _asked(environment, project, settings) else rules


def explained(environment: Environment, settings: Settings) -> list[str]:
    """What the user must know: the model, the price, what is sent."""
    from pmem.models.prices import NAME, load_prices
    from pmem.store.places import config_file

    own = config_file(environment.env)
    price = load_prices(own.with_name(NAME) if own is not None else None).price(settings.model)
    cost = (
        "its price is not known to pmem, tokens are counted"
        if price is None
        else f"${price.input:g} for a million tokens in, ${price.output:g} out"
    )
    where = f" at {settings.base_url}" if settings.base_url else ""
    limits = f"at most ${settings.session_money:g} a session and ${settings.day_money:g} a day"
    return [
        f"pmem: memory would ask {settings.model}{where} ({cost}; {limits}).",
        "      It is sent the task, rule files, the last steps with their outputs, and the bank;",
        "      values that look like secrets are taken out, commands named `private` left out.",
    ]


def say_yes(environment: Environment, project: Project, settings: Settings) -> None:
    """Note the user's yes. Raises Trouble if it cannot be written."""
    from pmem.store.consent import consent

    try:
        consent(project, settings.model, settings.base_url)
    except OSError as error:
        raise Trouble(f"cannot note your yes in {project.state}: {error.strerror}") from None


def _asked(environment: Environment, project: Project, settings: Settings) -> bool:
    from pmem.store.consent import decline

    environment.stderr.write("Let it be asked in this project? [y/N] ")
    environment.stderr.flush()
    try:
        answer = environment.stdin.readline().strip().casefold()
    except (OSError, ValueError):
        return False
    if answer in ("y", "yes", "j", "ja", "o", "oui", "s", "si", "예", "네", "はい", "是"):
        say_yes(environment, project, settings)
        return True
    with contextlib.suppress(OSError):
        decline(project, settings.model, settings.base_url)
    environment.say("rules only; pmem config consent yes changes that")
    return False
