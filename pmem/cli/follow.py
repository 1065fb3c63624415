"""`pmem attach` without an agent: which ones run here, and one of them followed from outside."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.words import count, shown

if TYPE_CHECKING:
    from pmem.agents.running import Running
    from pmem.core.event import Event
    from pmem.session.leash import Leash
    from pmem.session.session import Session

#: Seconds between two looks at a transcript, and at whether it is still the newest one.
PAUSE, RENEW = 0.1, 2.0
#: Agents whose transcript can be followed, and what reads it.
FOLLOWED = {
    "claude": "claude_transcript",
    "codex": "codex_transcript",
    "qwen": "qwen_transcript",
}
#: What goes on with an agent's latest conversation, behind its name.
GO_ON = {
    "claude": "--continue",
    "codex": "resume --last",
    "gemini": "--resume latest",
    "qwen": "--continue",
    "opencode": "--continue",
    "copilot": "--continue",
    "pi": "--continue",
}
#: Agents that read a project's settings again while they run, in the versions pmem is tested with.
LIVE = frozenset({"claude"})


def list_running(environment: Environment, *, as_json: bool, pid: int | None) -> int:
    """Tell which agents run, and follow the one chosen. Raises Trouble where there is none."""
    from pmem.agents.running import running

    found = running()
    if as_json:
        from pmem.cli.tables import write_json

        write_json(environment, [{**asdict(r), "reached": reached(r)} for r in found])
        return Exit.OK
    chosen = _chosen(environment, found, pid)
    return Exit.OK if chosen is None else follow(environment, chosen)


def reached(agent: Running) -> str:
    """How memory is with an agent already, or how it could be, in a few words."""
    if _has_memory(agent.pid):
        return "under memory: pmem log -f"
    ways = ["pmem attach --pid " + str(agent.pid)] if agent.agent in FOLLOWED else []
    if agent.agent in LIVE:
        ways.append(f"pmem attach {agent.agent}")
    return "; ".join([*ways, f"end it, then {going_on(agent)}"])


def going_on(agent: Running) -> str:
    """The command that takes an agent's conversation up again under memory."""
    return " ".join(["pmem", agent.agent, *GO_ON.get(agent.agent, "").split()])


def follow(environment: Environment, agent: Running) -> int:
    """Follow one agent from the start of its transcript until it ends; banners on stdout.

    Raises Trouble if it cannot be followed.
    """
    from pmem.cli.project import project_of, settings_of
    from pmem.session.assemble import assemble
    from pmem.session.leash import Leash
    from pmem.session.process import SessionConfig

    if agent.agent not in FOLLOWED:
        raise Trouble(
            f"a running {agent.agent} cannot be followed", f"end it, then: {going_on(agent)}"
        )
    if _has_memory(agent.pid):
        raise Trouble(f"{agent.agent} {agent.pid} is under memory already", "see: pmem log -f")
    if not agent.cwd:
        raise Trouble(f"cannot tell where {agent.agent} {agent.pid} works")
    place = Path(agent.cwd)
    inside = environment._replace(cwd=place)
    project = project_of(inside, None)
    settings = settings_of(inside, project)
    if not settings.model.startswith("scripted:"):  # nobody asked for a model here
        settings = settings._replace(arm="rules")
    leash = Leash(agent.pid)
    config = SessionConfig(project, settings, agent.agent, (agent.agent,), place)
    session, bank_file, log = assemble(config, environment.env)
    try:
        began = False
        for event in events(agent, leash, environment.env):
            told(environment, session, event)
            if not began:
                began = True
                steps = session.steps_known
                entries = len(bank_file.bank.entries)
                so_far = f"{count(steps, 'step')} so far, {count(entries, 'entry')}"
                where = shown(project.bank, environment.cwd)
                environment.say(f"following {agent.agent} {agent.pid} in {place}: {so_far}")
                environment.say(
                    f"{where} · reminders are shown here; ctrl-C leaves the agent alone"
                )
                live = agent.agent in LIVE
                how = f"pmem attach {agent.agent}" if live else f"end it, then {going_on(agent)}"
                environment.say(f"to let it read them too: {how}")
            if bank_file.due(time.monotonic()):
                bank_file.flush()
    except KeyboardInterrupt:
        pass
    finally:
        session.close()
        bank_file.close()
        log.close(bank_file.path)
    environment.say(
        f"{count(session.tally.steps, 'step')} · {count(session.tally.reminders, 'reminder')}"
    )
    return Exit.OK


def told(environment: Environment, session: Session, event: Event) -> None:
    """One event to the session, and its answer to the person.

    A command that failed is looked at as if it were proposed again: the person can act on it.
    """
    from pmem.core.event import SILENT, Observed, Proposed
    from pmem.session.outside import Channel
    from pmem.session.server import banner
    from pmem.terminal.banner import render_banner

    channel = Channel("follow")
    answer = session.handle(event, channel)
    failed = isinstance(event, Observed) and event.step.kind == "command" and event.step.exit_code
    if answer == SILENT and isinstance(event, Observed) and failed:
        answer = session.handle(Proposed(event.step.proposed, event.step.agent_id), channel)
    drawn = banner(answer)
    if drawn is not None:
        colour = environment.colour(environment.stdout)
        text = render_banner(drawn, environment.columns, colour)
        environment.stdout.write(text.replace("\r\n", "\n"))
        environment.stdout.flush()


def events(agent: Running, leash: Leash, env: Mapping[str, str]) -> Iterator[Event]:
    """What stands in the agent's transcript as one event, then each new turn; pauses between.

    Ends with the agent's process.
    """
    from importlib import import_module

    from pmem.core.event import Observed, Started, UserMessage
    from pmem.core.step import Step

    reader = import_module(f"pmem.agents.{FOLLOWED[agent.agent]}")
    path: Path | None = None
    looked = 0.0
    going = True
    while going:
        going = leash.holds()  # what it wrote last is read after it has ended
        if time.monotonic() - looked > RENEW:
            looked = time.monotonic()
            newest = reader.find_transcript(agent.cwd, env)
            if newest is not None and newest != path:
                fresh, other = reader.Turns(), Tail(newest)
                past = [pair for line in other.lines() for pair in fresh.read(line)]
                steps = [
                    event.step
                    if isinstance(event, Observed)
                    else Step(0, "user", "", event.text, started=at)
                    for event, at in past
                    if isinstance(event, Observed | UserMessage)
                ]
                if path is None or steps:  # else nothing was said in it yet
                    path, turns, tail = newest, fresh, other
                    yield Started("resume", None, tuple(steps))
        if path is None:
            time.sleep(PAUSE)
            continue
        for line in tail.lines():
            for event, _ in turns.read(line):
                yield event
        time.sleep(PAUSE if going else 0)


class Tail:
    """The whole lines of a file that is being written, each once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0

    def lines(self) -> list[str]:
        """Those not returned before."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                whole = file.read().rpartition(b"\n")[0]
        except OSError:
            return []
        if not whole:
            return []
        self._read += len(whole) + 1
        return whole.decode("utf-8", "replace").split("\n")


def _chosen(environment: Environment, found: list[Running], pid: int | None) -> Running | None:
    """The agent to follow; None if it was only asked which there are, or nobody chose."""
    if pid is not None:
        named = next((r for r in found if r.pid == pid), None)
        if named is None:
            raise Trouble(f"{pid} is no agent that runs here", "pmem attach lists them")
        return named
    if not found:
        raise Trouble(
            "no agent runs here", "start one with: pmem claude, or pmem run", Exit.MISSING
        )
    for agent in found:
        where = shown(Path(agent.cwd), environment.cwd) if agent.cwd else "?"
        environment.write(f"{agent.agent:8} {agent.pid:>7}  {where}  ({reached(agent)})")
    can = [r for r in found if r.agent in FOLLOWED and not _has_memory(r.pid)]
    if not environment.terminal or not can:
        return None
    if len(can) == 1:
        return can[0]
    from pmem.cli.picker import pick

    choices = [(r, f"{r.agent} {r.pid}  {r.cwd}") for r in can]
    return pick("Follow which one?", choices, colour=environment.colour(environment.stdout))


def _has_memory(pid: int) -> bool:
    """Whether a session of pmem's belongs to this agent, as far as the system tells."""
    from pmem.hook.attached import bases, find

    found = find(bases(os.environ), pid)
    if found is not None and found[1]:
        return True
    try:
        return b"\0PMEM_HOOKED=" in b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
