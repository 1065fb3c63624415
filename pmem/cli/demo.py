"""`pmem demo`: a scripted agent in a small project, under memory, for everyone to watch."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import StartOptions

if TYPE_CHECKING:
    from pmem.store.project import Project

#: Seconds the agent waits for memory, however busy the machine is.
PATIENCE = 20.0
#: Variables that would change the story.
NOT_FOR_DEMO = ("PMEM", "PMEM_ACTIVE", "PMEM_DIR", "PMEM_ARM", "PMEM_MODEL", "PMEM_DELIVER")


@click.command(
    short_help="Watch a scripted agent be reminded, offline.",
    epilog="""\b
Examples:
  pmem demo
  pmem demo --fast

It needs no network and no key. The project is kept in the temporary directory, with its memory.""",
)
@click.option("--fast", is_flag=True, help="Without pauses: about two seconds instead of twenty.")
@click.pass_obj
def demo(environment: Environment, fast: bool) -> int:
    """Watch a scripted agent forget how its tests are run, and be reminded.

    The agent is scripted; what it runs is not, nor is what pmem makes of it: the session, the
    bank and the reminder are the real ones. At the end you see what was remembered, and where.
    """
    project = Path(tempfile.mkdtemp(prefix="pmem-demo-")) / "greet"
    lay_out(project)
    inside = environment._replace(env=surroundings(environment, fast=fast), cwd=project)
    code = play(inside)
    if code:
        raise Trouble(
            f"the agent was not reminded in time (it ended with {code})",
            f"what happened: cd {project} && pmem log --decisions",
        )
    tell(inside, project)
    return Exit.OK


def lay_out(project: Path) -> None:
    """Write the small project, with a place of its own for its memory."""
    from pmem.store.project import ensure, find_project

    project.mkdir(parents=True)
    for file in resources.files("pmem.demo").joinpath("project").iterdir():
        (project / file.name).write_bytes(file.read_bytes())
    ensure(find_project(project, os.environ, project / ".pmem"))


def surroundings(environment: Environment, *, fast: bool) -> dict[str, str]:
    """The variables of the demonstration: the user's own, without what would change the story."""
    env = {name: value for name, value in environment.env.items() if name not in NOT_FOR_DEMO}
    package = str(Path(__file__).parent.parent.parent)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (package, env.get("PYTHONPATH"))))
    if fast:
        env["PMEM_DEMO_SPEED"] = "0"
    if not environment.colour(environment.stdout):
        env["NO_COLOR"] = "1"
    return env


def play(environment: Environment) -> int:
    """Run the scripted agent under memory, in a pty even where we have none; its exit code."""
    from pmem.cli.launch import launch

    on_a_pty = environment._replace(stdin_isatty=True, stdout_isatty=True)
    command = [sys.executable, "-m", "pmem.demo.agent"]
    options = StartOptions(arm="rules", hold="sure", interval=5, window=8)
    return launch(on_a_pty, command, options, "scripted", patience=PATIENCE)


def tell(environment: Environment, project: Path) -> None:
    """Show the bank the session left, and name its place."""
    from pmem.cli.bank_view import show_entries
    from pmem.store.bank_file import BankFile
    from pmem.store.project import find_project

    found = find_project(project, environment.env, project / ".pmem")
    bank = BankFile(found).bank
    environment.write("\nWhat pmem kept of it:\n")
    show_entries(environment, bank.entries.values())
    environment.write(
        f"\n{found.bank}\nis that bank: a file to read and to edit. Why pmem spoke:\n"
    )
    why = f"review --step {spoken(found)}" if environment.terminal else "log --decisions"
    environment.write(f"cd {project} && pmem {why}")


def spoken(project: Project) -> int:
    """The step of the newest session before which memory spoke."""
    from pmem.store.session_log import read_decisions
    from pmem.store.sessions import list_sessions

    decisions = read_decisions(list_sessions(project)[0].path)[0]
    return next((int(d["before_step"]) for d in decisions if d.get("decision") == "remind"), 1)
