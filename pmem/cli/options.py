"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

#: The arms there are, as in store/knobs.py.
ARMS = ("off", "rules", "selective", "bank", "always", "advisor", "mem0")

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
            click.option("--arm", type=click.Choice(ARMS), help="How memory runs."),
            click.option(
                "--hold",
                type=click.Choice(["sure", "watch", "never"]),
                help="When a proposed action may be put back, once.",
            ),
            click.option(
                "--interval",
                type=click.IntRange(min=1),
                metavar="N",
                help="Steps between two calls of the memory agent.",
            ),
            click.option(
                "--window",
                type=click.IntRange(min=1),
                metavar="K",
                help="Steps the memory agent looks back on.",
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
        help="The directory that holds the memory, instead of the .pmem found upward from here.",
    )(command)


def json_option(command: F) -> F:
    """`--json`: data for programs on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


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
