"""`pmem replay`: what the memory agent would have said over recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import json_option
from pmem.cli.playing import Player, model_options, player
from pmem.cli.words import count

if TYPE_CHECKING:
    from pmem.core.step import Step
    from pmem.evaluation.past import Past, Spoken
    from pmem.evaluation.replay import Replayed

#: Characters shown of an action.
SHOWN = 120


@click.command(
    short_help="What memory would have said over recorded runs.",
    epilog="""\b
Examples:
  pmem replay ~/.claude/projects/-home-me-app/SESSION.jsonl
  pmem replay run.json --delivery claude  as Claude Code could have heard it
  pmem replay steps.jsonl --step 40       the state after step 40
  pmem replay --here                      this directory's own past runs
  pmem replay run.jsonl --model command:./me.sh --prompts-to calls
                                          a program of yours plays memory

Reads pmem's own steps.jsonl, ATIF, Claude Code, Codex and Gemini CLI transcripts, mini-swe-agent
trajectories and aider's chat history. Nothing is sent anywhere but to the model you name, and
nothing is written unless you ask for it with --seed or --prompts-to. Stopped with Ctrl-C, the same
command goes on from the answers in --prompts-to.""",
)
@click.argument("files", metavar="FILE…", nargs=-1, type=click.Path(path_type=Path))
@click.option("--here", is_flag=True, help="This directory's own past runs.")
@click.option("--seed", is_flag=True, help="With --here: put what was found into the bank.")
@click.option(
    "--arm",
    metavar="ARM",
    help="rules or scripted:FILE; with a model selective, bank, always or advisor.",
)
@model_options
@click.option("--step", "until", type=click.IntRange(0), metavar="N", help="Stop after step N.")
@click.option(
    "--delivery",
    type=click.Choice(["ideal", "claude", "codex", "gemini", "shell"]),
    default="ideal",
    show_default=True,
    help="How a reminder could have reached the agent.",
)
@json_option
@click.pass_obj
def replay(
    environment: Environment,
    /,
    files: tuple[Path, ...],
    here: bool,
    seed: bool,
    arm: str | None,
    until: int | None,
    delivery: Any,
    as_json: bool,
    **asked: Any,
) -> None:
    """Replay recorded runs step by step, and show what would have been said, why and when.

    The memory agent sees each step as it came, without a look ahead.
    """
    if here == bool(files) or (seed and not here):
        raise click.UsageError("name recorded runs, or say --here (with --seed, if you like)")
    if here:
        if asked["model"] or asked["pure"]:
            raise click.UsageError("no model is asked over a whole past; name one recorded run")
        _here(environment, player(environment, arm, **asked), seed=seed, as_json=as_json)
        return
    plays = player(environment, arm, **asked)
    for path in files:
        _file(environment, path, plays, until, delivery, as_json=as_json, one=len(files) == 1)
    plays.tell()


def _file(
    environment: Environment,
    path: Path,
    plays: Player,
    until: int | None,
    delivery: Any,
    *,
    as_json: bool,
    one: bool,
) -> None:
    from pmem.agents.transcripts.read import read
    from pmem.core.redact import redact
    from pmem.evaluation.past import spoken
    from pmem.evaluation.replay import replay as play

    try:
        recorded = read(path)
    except ValueError as error:
        raise Trouble(str(error), code=Exit.MISSING) from None
    for remark in recorded.remarks:
        environment.say(f"{path}: {remark}")
    if until is not None:
        recorded.steps = [step for step in recorded.steps if step.number <= until]
    memory = plays.memory("" if one else path.stem, len(recorded.steps))
    with plays.telling():
        result = play(
            recorded.header,
            recorded.lines,
            memory,
            delivery=delivery,
            interval=plays.interval,
            redact=redact,
        )
    if as_json:
        from pmem.cli.tables import write_json

        took = {"model": plays.taken.to_json()} if plays.taken is not None and one else {}
        write_json(environment, {**as_object(result), **took}, one_line=not one)
        return
    told = [spoken(path.name, said, recorded.steps) for said in result.said]
    size = f"{count(len(recorded.steps), 'step')} · {count(len(told), 'reminder')}"
    print(f"{path} · {recorded.format} · {size}", file=environment.stdout)
    _tell(environment, told)
    if plays.taken is not None:
        _tell_silences(environment, result)
    from pmem.cli.bank_view import show_entries

    if result.bank.entries:
        print("\nThe bank at the end:\n", file=environment.stdout)
        show_entries(environment, result.bank.entries.values())


def _tell_silences(environment: Environment, result: Replayed) -> None:
    """Why nothing was said, most often first: who plays learns what became of their answers."""
    whys = [str(d.get("verdict")) for d in result.decisions if d["decision"] == "silent"]
    for n, why in enumerate(sorted(set(whys), key=lambda why: (-whys.count(why), why))):
        line = f"  silent {whys.count(why)} times: {why}".replace(" 1 times:", " once:")
        print(line if n else f"\n{line}", file=environment.stdout)


def as_object(result: Replayed) -> dict[str, Any]:
    """`{"decisions": […], "bank": {…}}`; a decision's `before_step` is where it could be read."""
    from pmem.store.bank_entry import to_table

    said = iter(result.said)
    decisions = []
    for record in result.decisions:
        decision = {"text": "", "entries": [], "delivery": None, **record}
        if record["decision"] == "remind":
            decision["before_step"] = next(said).before_step
        decisions.append(decision)
    bank = result.bank
    return {
        "decisions": decisions,
        "bank": {
            "status": bank.status,
            "knowledge": [to_table(entry) for entry in bank.knowledge],
            "procedural": [to_table(entry) for entry in bank.procedural],
        },
    }


def _here(environment: Environment, plays: Player, *, seed: bool, as_json: bool) -> None:
    from pmem.agents.transcripts.here import find
    from pmem.agents.transcripts.read import read
    from pmem.core.redact import redact
    from pmem.evaluation.past import Run, look_back

    plays.memory()
    runs = []
    for path in find(environment.cwd, environment.env):
        try:
            recorded = read(path)
        except ValueError as error:
            environment.say(str(error))
            continue
        for remark in recorded.remarks:
            environment.say(f"{path}: {remark}")
        runs.append(Run(recorded.format.split()[0].lower(), recorded.header, recorded.steps))
    past = look_back(runs, plays.memory, redact)
    if as_json:
        _here_json(environment, past)
    elif not past.sessions:
        print(
            "No past run of Claude Code, Codex, Gemini CLI or aider in this directory.",
            file=environment.stdout,
        )
    else:
        _summary(environment, past)
        seed = seed or _asked(environment, past)
    if seed and past.seeds:
        _seed(environment, past)


def _here_json(environment: Environment, past: Past) -> None:
    from pmem.cli.tables import write_json

    reminders = [
        {
            "run": one.run,
            "before_step": one.said.before_step,
            "text": one.said.reminder.text,
            "entries": list(one.said.reminder.entries),
            "then": one.then.action if one.then else None,
            "then_failed": one.then_failed,
        }
        for one in past.spoken
    ]
    found = {"sessions": past.sessions, "steps": past.steps, "reminders": reminders}
    write_json(environment, {**found, "seeds": [entry.id for entry in past.seeds]})


def _summary(environment: Environment, past: Past) -> None:
    times = len(past.spoken)
    spoke = "never" if not times else "once" if times == 1 else f"{times} times"
    print(
        f"{past.sessions} session{'s' * (past.sessions != 1)}, {past.steps} steps: "
        f"pmem would have spoken {spoke}{'; the best two:' if times > 2 else '.'}",
        file=environment.stdout,
    )
    _tell(environment, past.best, named=True)
    kept = len(past.seeds)
    if kept:
        rules = sum(entry.section == "knowledge" for entry in past.seeds)
        print(
            f"\nFound for the bank: {count(rules, 'rule or fact', 'rules and facts')}, "
            f"{count(kept - rules, 'command')} that failed.",
            file=environment.stdout,
        )


def _tell(environment: Environment, told: list[Spoken], *, named: bool = False) -> None:
    for one in told:
        where = f"{one.run}, " if named else ""
        how = "held" if one.said.hold else str(one.said.delivery or "")
        print(
            f"\n  {where}before step {one.said.before_step} · {one.said.reminder.reason} · {how}\n"
            f"  {one.said.reminder.text}",
            file=environment.stdout,
        )
        if one.then is not None:
            print(f"  then: {_outcome(one.then, one.then_failed)}", file=environment.stdout)


def _outcome(step: Step, failed: bool) -> str:
    action = " ".join(step.action.split())
    shown = action if len(action) <= SHOWN else action[: SHOWN - 1] + "…"
    code = f" (exit {step.exit_code})" if step.exit_code else ""
    return f"{shown} → {'failed' if failed else 'no failure'}{code}"


def _asked(environment: Environment, past: Past) -> bool:
    """One key, on a terminal: whether what was found is to go into the bank."""
    if not (environment.terminal and past.seeds):
        return False
    print(
        "\nPress s to put them into this project's bank, any other key to leave it as it is.",
        file=environment.stderr,
    )
    try:
        return click.getchar().lower() == "s"
    except (KeyboardInterrupt, EOFError):
        return False


def _seed(environment: Environment, past: Past) -> None:
    from pmem.cli.project import opened_bank
    from pmem.core.bank import PutEntry

    with opened_bank(environment, None, change=True) as bank_file:
        fresh = [entry for entry in past.seeds if bank_file.bank.get(entry.id) is None]
        bank_file.apply([PutEntry(entry) for entry in fresh])
    entries = count(len(fresh), "new entry", "new entries")
    environment.say(f"{entries} in {bank_file.path}; see pmem bank list")
