"""A model that plays the memory agent over recorded runs: its options, the user's yes, its cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.spent import dollars

if TYPE_CHECKING:
    from pmem.evaluation.dataset import Run
    from pmem.evaluation.played import Played, Taken
    from pmem.memory.protocol import MemoryAgent
    from pmem.models.recorded import Recorded
    from pmem.session.ledger import Ledger
    from pmem.store.settings import Settings

#: A program that answers may be a person's: seconds it may take for one answer.
PATIENCE = 3600.0

#: What the name of a directory does without: slashes of a model's name, blanks.
_ODD = re.compile(r"[^\w.:@=+-]+")

F = TypeVar("F", bound=Callable[..., Any])


def model_options(command: F) -> F:
    """`--model`, `--pure`, `--prompts-to` and `--yes`, as one argument `playing` asks for."""
    return _options(command, several=False)


def several_models(command: F) -> F:
    """The same, and `--model` may be given several times: `players` asks for it."""
    return _options(command, several=True)


def _options(command: F, *, several: bool) -> F:
    for option in reversed(
        (
            click.option(
                "--model",
                metavar="PROVIDER:NAME",
                multiple=several,
                help="The model that plays: anthropic:NAME, openai:NAME, command:PROGRAM or "
                f"scripted:FILE{'; of several, one after the other' if several else ''}.",
            ),
            click.option(
                "--pure",
                is_flag=True,
                help="The paper's own memory agent: every step, two calls, no watches, no rules.",
            ),
            click.option(
                "--prompts-to",
                metavar="DIR",
                type=click.Path(path_type=Path),
                help="Keep every prompt and answer there, and take the answers that are there.",
            ),
            click.option(
                "--yes", is_flag=True, help="Let the model be asked in this project from now on."
            ),
        )
    ):
        command = option(command)
    return command


@dataclass
class Player:
    """Makes the memory agent of an arm anew for each run. `taken` is what its model took, `label`
    what tells it from players of the same arm."""

    environment: Environment
    arm: str
    settings: Settings | None = None
    pure: bool = False
    prompts_to: Path | None = None
    label: str = ""
    steps: int = 0
    at: int = 0
    taken: Taken | None = None
    _recorded: list[Recorded] = field(default_factory=list)

    @property
    def interval(self) -> int:
        """Every how many steps memory looks."""
        return 1 if self.pure else 5

    @property
    def name(self) -> str:
        """The arm in a table."""
        return " ".join(part for part in ("pure" if self.pure else self.arm, self.label) if part)

    def memory(self, run: str = "", steps: int = 0) -> MemoryAgent:
        """A fresh memory agent; `run` names a directory below `prompts_to`, `steps` how long the
        run is. Raises Trouble (2) for an arm that cannot be replayed."""
        from pmem.memory.arms import memory_agent

        self.steps, self.at = steps, 0
        try:
            if self.settings is not None:
                return self._played(self.settings, run)
            memory = memory_agent(self.arm)
        except ValueError as error:
            raise Trouble(str(error), code=Exit.USAGE) from None
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise Trouble(
                f"cannot use {self.prompts_to}: {why}", "name another", Exit.USAGE
            ) from None
        if memory is None:
            raise Trouble("the arm off says nothing", "use --arm rules", Exit.USAGE)
        return memory

    def of_run(self, run: Run) -> MemoryAgent:
        """A fresh memory agent for a run of a dataset, for the arm `off` one that says nothing.
        Raises Trouble as `memory` does."""
        from pmem.memory.scripted import Scripted

        if self.arm == "off":
            return Scripted([])
        return self.memory(f"{_ODD.sub('-', self.name)}/{run.id}", len(run.lines))

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Around a replay: Ctrl-C and a model that cannot go on end it with a word."""
        from pmem.evaluation.played import CannotGoOn

        try:
            yield
        except (KeyboardInterrupt, CannotGoOn) as end:
            if self.settings is None:  # rules are done in a moment
                raise
            self._clear()
            why = str(end) or "stopped by Ctrl-C"
            raise Trouble(
                f"at step {self.at} of {self.steps}: {why}",
                f"the answers are in {self.prompts_to}, the same command goes on from them"
                if self.prompts_to is not None
                else "with --prompts-to DIR answers are kept, and the next run goes on from them",
                Exit.OURS if isinstance(end, CannotGoOn) else Exit.INTERRUPTED,
            ) from None
        finally:
            self._clear()

    def tell(self) -> None:
        """What the model took, in one line on stderr."""
        taken = self.taken
        if taken is None:
            return
        usage = taken.ledger.usage
        read = usage.input + usage.cache_read + usage.cache_write
        reused = sum(recorded.reused for recorded in self._recorded)
        calls = f"{taken.ledger.calls} calls" + (f" ({reused} answered on disk)" if reused else "")
        who = f"{self.name}: " if self.label else ""
        line = f"{who}{calls}, {read:,} tokens in, {usage.output:,} out"
        line += dollars(taken.ledger.money)
        if self.prompts_to is not None:
            line += f"; prompts and answers in {self.prompts_to}"
        self.environment.say(line)
        if taken.failed:
            word = "call" if taken.failed == 1 else "calls"
            self.environment.say(
                f"{taken.failed} {word} failed and counted as silence: {taken.failure}"
            )

    def _played(self, settings: Settings, run: str) -> Played:
        from pmem.core.redact import redact
        from pmem.evaluation.played import Played, Taken
        from pmem.memory.arms import Together, memory_agent
        from pmem.models.named import model_named
        from pmem.models.recorded import Recorded
        from pmem.session.arm import PROMPTS
        from pmem.store.places import beside_config

        model = model_named(settings.model, self.environment.env, settings.base_url)
        if self.prompts_to is not None:
            # A script counts what it has played: it has to be asked for all of it.
            scripted = settings.model.startswith("scripted:")
            model = Recorded(model, self.prompts_to / run, reuse=not scripted)
            self._recorded.append(model)
        agent = memory_agent(
            self.arm,
            model,
            pure=self.pure,
            prompts=beside_config(self.environment.env, PROMPTS),
            timeout=settings.timeout if sends(settings.model) else PATIENCE,
            redact=redact,
        )
        assert isinstance(agent, Together)
        self.taken = self.taken or Taken(self._ledger(settings))
        return Played(agent, self.taken, self._progress)

    def _ledger(self, settings: Settings) -> Ledger:
        """One for all runs of a command: it is a session to the limits."""
        from pmem.models.prices import NAME, load_prices
        from pmem.session.ledger import Ledger, Limits
        from pmem.store.places import beside_config, state_home
        from pmem.store.spending import Spending

        prices = load_prices(beside_config(self.environment.env, NAME))
        if not sends(settings.model):
            return Ledger(settings.model, prices)
        limits = Limits(
            settings.session_tokens, settings.session_money, settings.day_tokens, settings.day_money
        )
        day = Spending(state_home(self.environment.env)[0])
        return Ledger(settings.model, prices, limits, day=day)

    def _progress(self, step: int, calls: int) -> None:
        self.at = step
        if self.environment.stderr_isatty:
            self._draw(f"\rstep {step} of {self.steps}, {calls} calls\x1b[K")

    def _clear(self) -> None:
        if self.environment.stderr_isatty and self.taken is not None:
            self._draw("\r\x1b[K")

    def _draw(self, line: str) -> None:
        with suppress(OSError, ValueError):
            self.environment.stderr.write(line)
            self.environment.stderr.flush()


def sends(model: str) -> bool:
    """Whether this model sends what it is told to a provider, as far as its name says."""
    from pmem.models.command import PRESETS

    provider, _, rest = model.partition(":")
    words = rest.split()
    return provider not in ("command", "scripted") or bool(words and words[0] in PRESETS)


def player(
    environment: Environment,
    arm: str | None,
    *,
    model: str | None,
    pure: bool,
    prompts_to: Path | None,
    yes: bool,
) -> Player:
    """The player of an arm: `selective` where a model is named, else `rules`, if none is said.

    Raises Trouble where a model is needed and none is named, or may not be asked.
    """
    from pmem.memory.arms import WITH_MODEL

    arm = arm or ("selective" if model or pure else "rules")
    if arm not in WITH_MODEL:
        if model or pure:
            raise Trouble(
                f"the arm {arm} has no model", f"use --arm {', '.join(WITH_MODEL)}", Exit.USAGE
            )
        return Player(environment, arm)
    if pure and arm != "selective":
        raise Trouble(f"pure is a form of the arm selective, not of {arm}", code=Exit.USAGE)
    return Player(environment, arm, _settings(environment, arm, model, yes), pure, prompts_to)


def players(
    environment: Environment, arms: Sequence[str], *, model: Sequence[str], **asked: Any
) -> list[Player]:
    """The player of each arm; an arm that has a model has a player for each that is named.

    Raises Trouble as `player` does, and where no arm has the model that is named.
    """
    from pmem.memory.arms import EMBEDDED, WITH_MODEL

    without = {**asked, "model": None, "pure": False, "prompts_to": None}
    models = tuple(dict.fromkeys(model))
    some = any(arm in WITH_MODEL for arm in arms)
    found = []
    for arm in arms or (None,):
        if some and arm in EMBEDDED:
            found.append(player(environment, arm, **without))
            continue
        for one in models or (None,):
            plays = player(environment, arm, model=one, **asked)
            plays.label = one if one and len(models) > 1 else ""
            found.append(plays)
    return found


def _settings(environment: Environment, arm: str, model: str | None, yes: bool) -> Settings:
    """The settings to ask with, once the user lets the model be asked."""
    from pmem.cli.consent import settled
    from pmem.cli.project import project_of, settings_of

    project = project_of(environment, None)
    given = settings_of(environment, project, {"model": model} if model else {})
    settings = given._replace(arm=arm)
    if settings.model and not sends(settings.model):
        return settings
    if settled(environment, project, settings, yes=yes, quiet=True).arm != arm:
        raise Trouble(f"{settings.model} is not asked before you say yes", "add --yes", Exit.USAGE)
    return settings
