"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

#: The arms there are, as in store/knobs.py.
ARMS = ("off", "rules", "selective", "bank", "always", "advisor")

#: Those that a trial of a benchmark can have.
TRIAL_ARMS = (*ARMS, "mem0")

F = TypeVar("F", bound=Callable[..., Any])


class StartOptions(NamedTuple):
    """What was asked for on the command line when a program is started; None: not said."""

    task: str | None = None
    directory: str | None = None
    quiet: bool | None = None
    arm: str | None = None
    hold: str | None = None
    interval: int | None = None
    window: int | None = None
    model: str | None = None
    mode: str | None = None
    pure: bool | None = None
    yes: bool | None = None
    record: bool | None = None
    pane: str | None = None
    via: str | None = None

    def over(self, other: StartOptions) -> StartOptions:
        """These options, and the other's where nothing is said here."""
        said = {name: value for name, value in self._asdict().items() if value is not None}
        return other._replace(**said)

    def flags(self) -> dict[str, Any]:
        """Those that are settings, by the setting's name."""
        named = {
            "quiet": self.quiet,
            "arm": self.arm,
            "hold": self.hold,
            "interval": self.interval,
            "window": self.window,
            "model": self.model,
            "mode": self.mode,
            "pure": self.pure,
            "record": self.record,
            "pane": self.pane,
        }
        return {name: value for name, value in named.items() if value is not None}


def start_options(command: F) -> F:
    """The options of everything that starts a program under memory."""
    for option in reversed(
        (
            click.option(
                "--task",
                metavar="TEXT|@FILE",
                help="What the agent is to do; else its first user message says so.",
            ),
            directory_option,
            click.option(
                "--quiet", "-q", is_flag=True, default=None, help="No start line, no end line."
            ),
            click.option(
                "--arm",
                type=click.Choice(ARMS),
                metavar="ARM",
                help=f"How memory runs: off or rules; with a model {', '.join(ARMS[2:])}.",
            ),
            click.option(
                "--hold",
                type=click.Choice(["sure", "watch", "never"]),
                metavar="WHEN",
                help="What may put a proposed action back, once: sure, watch or never.",
            ),
            click.option(
                "--interval",
                type=click.IntRange(min=1),
                metavar="N",
                help="The memory agent looks every N steps.",
            ),
            click.option(
                "--window",
                type=click.IntRange(min=1),
                metavar="K",
                help="And sees the last K of them.",
            ),
            click.option(
                "--model",
                metavar="PROVIDER:NAME",
                help="The model behind memory: anthropic:NAME, openai:NAME, command:PROGRAM.",
            ),
            click.option(
                "--mode",
                type=click.Choice(["async", "sync"]),
                metavar="MODE",
                help="sync: the agent waits for the model; async: never.",
            ),
            click.option(
                "--pure",
                is_flag=True,
                default=None,
                help="The paper's own memory agent: every step, two calls, no watches.",
            ),
            click.option(
                "--pane",
                type=click.Choice(["auto", "always", "never"]),
                metavar="WHEN",
                help="In tmux, a small pane with the reminders: auto, where the agent shows none.",
            ),
            click.option(
                "--via",
                type=click.Choice(["proxy"]),
                metavar="WAY",
                help="proxy: reach the agent at its model's wire, not by its hooks.",
            ),
            click.option(
                "--yes", is_flag=True, default=None, help="Let the model be asked in this project."
            ),
            click.option(
                "--record",
                is_flag=True,
                default=None,
                help="Keep what the terminal shows, for `asciinema play`.",
            ),
        )
    ):
        command = option(command)
    return command


def directory_option(command: F) -> F:
    """`--dir DIR`: the project, instead of looking for it upward from here."""
    return click.option(
        "--dir",
        "directory",
        metavar="DIR",
        help="The directory that holds the memory; else the .pmem found upward from here.",
    )(command)


def embedder_options(command: F) -> F:
    """`--embedder NAME` and `--embedder-url URL`, for the arm mem0."""
    url = click.option(
        "--embedder-url",
        default="",
        metavar="URL",
        help="Its endpoint, if one of your own.",
    )
    name = click.option(
        "--embedder",
        default="",
        metavar="NAME",
        help="Mem0's embedder: openai:text-embedding-3-small, or what the URL has.",
    )
    return name(url(command))


def json_option(command: F) -> F:
    """`--json`: data for programs on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def complete_id(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Ids of the bank that begin so, for the shell's completion; none on any trouble."""
    from contextlib import suppress

    from click.shell_completion import CompletionItem

    from pmem.cli.project import opened_bank

    with suppress(Exception), opened_bank(ctx.obj, ctx.params.get("directory")) as bank_file:
        entries = bank_file.bank.entries.values()
        return [
            CompletionItem(e.id, help=" ".join(e.content.split())[:60])
            for e in entries
            if e.id.startswith(incomplete)
        ]
    return []


def start_options_given(given: Mapping[str, Any]) -> StartOptions:
    """The options as parsed by click."""
    return StartOptions(**given)


def read_task(task: str | None, cwd: Path) -> str:
    """The task's text: TEXT itself, or what stands in FILE for `@FILE`.

    Raises click.BadParameter if the file cannot be read.
    """
    if not task or not task.startswith("@"):
        return task or ""
    path = cwd / Path(task[1:]).expanduser()
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise click.BadParameter(f"cannot read the task from {path}: {reason}") from None
