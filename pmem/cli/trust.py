"""`pmem trust`: let the project's pmem.toml name programs and endpoints."""

from __future__ import annotations

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option
from pmem.cli.project import project_of
from pmem.cli.words import shown


@click.command(
    epilog="""\b
Examples:
  pmem trust            after reading .pmem/pmem.toml
  pmem trust --revoke

Any later change of the file has to be trusted anew. Nothing of this is asked for a .pmem that
pmem made here itself."""
)
@click.option("--revoke", is_flag=True, help="Trust it no more.")
@directory_option
@click.pass_obj
def trust(environment: Environment, revoke: bool, directory: str | None) -> None:
    """Trust this project's pmem.toml as it stands.

    A pmem.toml that came with somebody else's repository may not name a program to run or an
    address to call until you have read it and said so.
    """
    from pmem.store import trust as trusted

    project = project_of(environment, directory)
    path = shown(project.settings, environment.cwd)
    try:
        if revoke:
            trusted.distrust(project)
        else:
            trusted.trust(project)
    except FileNotFoundError:
        raise Trouble(
            f"there is no {path}", "nothing has to be trusted here", Exit.MISSING
        ) from None
    except OSError as error:
        raise Trouble(f"cannot note it: {error.strerror or error}", "check the place") from None
    environment.say(f"{path} is {'trusted no more' if revoke else 'trusted as it stands'}")
