"""`pmem doctor`: does memory reach the agents installed here? Found out by trying."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pmem.cli.completion import complete_agent
from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option, json_option
from pmem.cli.project import project_of

if TYPE_CHECKING:
    from pathlib import Path

    from pmem.agents.protocol import AgentAdapter
    from pmem.cli.checkup import Found
    from pmem.cli.checkup_here import Check

#: What no check of this kind can tell.
NOT_CHECKED = "your own settings, hooks and logins; the agent's screen; its real model"
MARKS = {True: "✓", False: "✗", None: "·"}


@click.command(
    short_help="Try whether memory reaches the agents here.",
    epilog="""\b
Examples:
  pmem doctor
  pmem doctor claude
  pmem doctor --json

Each agent works a few seconds in a home and a project of its own, against a scripted model on this
machine: no key, no network, nothing of yours is read or changed. `verified` means that a reminder
stood in the agent's own request to its model. Ends 1 if something is wrong.""",
)
@click.argument("agent", required=False, shell_complete=complete_agent)
@json_option
@directory_option
@click.pass_obj
def doctor(
    environment: Environment, agent: str | None, as_json: bool, directory: str | None
) -> int:
    """Check this machine, this project, and AGENT or every agent installed here."""
    from pmem.cli.checkup import agent_checks, told
    from pmem.cli.checkup_here import machine, project_checks

    agents = installed(environment, agent)
    project = project_of(environment, directory)
    checks = [*machine(environment.env), *project_checks(project, environment.env)]
    if not as_json:
        for check in checks:
            environment.write(line(check))
    found = []
    for adapter, path in agents:
        if environment.stderr_isatty and not as_json:
            environment.say(f"trying {adapter.title} …")
        found.append(agent_checks(adapter, path, environment.env))
        if not as_json:
            show(environment, found[-1])
    if as_json:
        from pmem.cli.tables import write_json

        write_json(
            environment,
            {
                "checks": [told(check) for check in checks],
                "agents": [told(one) for one in found],
                "not_checked": NOT_CHECKED,
            },
        )
    else:
        if not agents:
            environment.say("no agent CLI is installed here")
        environment.say(f"not checked: {NOT_CHECKED}")
    wrong = any(c.ok is False for c in [*checks, *(c for one in found for c in one.checks)])
    return Exit.MISSING if wrong else Exit.OK


def installed(environment: Environment, agent: str | None) -> list[tuple[AgentAdapter, Path]]:
    """The agents to try. Raises Trouble for one that is not known or not here."""
    from pmem.agents import registry

    if agent is None:
        return registry.installed(environment.env)
    name = registry.known(agent)
    if name == "generic":
        raise Trouble(f"there is no agent {agent!r}", "pmem doctor tries all", Exit.USAGE)
    adapter = registry.ADAPTERS[name]
    path = adapter.find(environment.env)
    if path is None:
        raise Trouble(f"{adapter.title} is not installed here", code=Exit.MISSING)
    return [(adapter, path)]


def show(environment: Environment, found: Found) -> None:
    """One agent: what it is, how well it is reached, and what was looked at."""
    environment.write(f"\n{found.agent} {found.version or '?'}  {found.tier}  {found.path}")
    for check in found.checks:
        environment.write("  " + line(check))


def line(check: Check) -> str:
    """A check on one line, with what to do next."""
    text = f"{MARKS[check.ok]} {check.name}: {check.say}"
    return f"{text}; {check.next}" if check.next else text
