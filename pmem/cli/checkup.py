"""What `pmem doctor` finds out of each agent, in a real round trip."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmem.cli.checkup_here import Check

if TYPE_CHECKING:
    from pmem.agents.play_model import PlayModel
    from pmem.agents.protocol import AgentAdapter
    from pmem.agents.trial import Trial

#: Seconds an agent may take for the whole play, and to say its version.
LIMIT, VERSION_LIMIT = 90, 20
VERSION = r"(\d+\.\d+(?:\.\d+)?[\w.+-]*)"
#: The play: a build that fails twice alike, a look at it, and the same build proposed again.
BUILD = "sh build.sh"
COMMANDS = (BUILD, BUILD, "cat build.sh", BUILD)
SCRIPT = "echo 'main.c:3: error: db.h is missing' >&2\nexit 3\n"
#: Where version managers keep programs: their variable, and the place below the user's home.
MANAGERS = {
    "VOLTA_HOME": ".volta",
    "ASDF_DATA_DIR": ".asdf",
    "MISE_DATA_DIR": ".local/share/mise",
    "NVM_DIR": ".nvm",
    "NODENV_ROOT": ".nodenv",
    "PYENV_ROOT": ".pyenv",
}


@dataclass(frozen=True, slots=True)
class Found:
    """An agent and what was found of it.

    `tier` is `verified` (a reminder came back in the agent's own request to its model),
    `confirm-only` (its steps were recorded, no reminder came back), `none` (nothing was seen) or
    `unchecked`.
    """

    agent: str
    path: str
    version: str
    tested: tuple[str, ...]
    tier: str
    checks: list[Check] = field(default_factory=list)


def agent_checks(adapter: AgentAdapter, path: Path, env: Mapping[str, str]) -> Found:
    """One installed agent: its version, and a round trip with a model that plays a script."""
    from pmem.agents.trial import TRIALS

    trial = TRIALS.get(adapter.name)
    tested = tuple(trial.tested) if trial else ()
    try:
        with _room(env) as (home, project):
            return _tried(adapter.name, trial, path, _inside(env, path, home), home, project)
    except OSError as error:
        check = Check("round trip", None, f"could not be made: {error}")
        return Found(adapter.name, str(path), "", tested, "unchecked", [check])


def _tried(
    agent: str,
    trial: Trial | None,
    path: Path,
    inside: Mapping[str, str],
    home: Path,
    project: Path,
) -> Found:
    tested = tuple(trial.tested) if trial else ()
    version = version_of(path, inside)
    found = Found(agent, str(path), version, tested, "unchecked")
    if not version:
        why = f"{path} --version says nothing"
        return _with(found, Check("version", False, why, "is it installed whole?"), tier="none")
    if version in tested:
        found.checks.append(Check("version", True, version))
    elif tested:
        say = f"{version}; tested with {', '.join(tested)}"
        found.checks.append(Check("version", None, say))
    if trial is None:
        return _with(found, Check("round trip", None, "pmem cannot try it on its own yet"))
    return _round_trip(found, trial, path, inside, home, project)


def version_of(path: Path, env: Mapping[str, str]) -> str:
    """The version an agent tells, "" if it tells none."""
    try:
        done = subprocess.run(
            [str(path), "--version"],
            env={**env, "PMEM": "off"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=VERSION_LIMIT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = done.stdout + done.stderr
    # One that knows no --version refuses it, and may name its version all the same.
    told = re.search(VERSION if done.returncode == 0 else rf"version {VERSION}", said)
    return told[1].rstrip(".") if told else ""


def _round_trip(
    found: Found,
    trial: Trial,
    path: Path,
    inside: Mapping[str, str],
    home: Path,
    project: Path,
) -> Found:
    """Run the agent under pmem and see what arrived at the model and in the log."""
    from pmem.agents.play_model import PlayModel

    (project / "build.sh").write_text(SCRIPT)
    play = (*COMMANDS, *([trial.last] if trial.last else []))
    with PlayModel(play) as model:
        setting = trial.prepare(home, project, model.url)
        env = {**inside, **setting.env}
        words = [sys.executable, "-P", "-m", "pmem", "run", "--", str(path), *setting.args]
        code, said = _run(words, project, env)
    return _judge(found, project, env, model, code, said)


@contextmanager
def _room(env: Mapping[str, str]) -> Iterator[tuple[Path, Path]]:
    """A home and a project for one trial, taken away again; raises OSError.

    Not in the temporary directory: some agents read no settings below one that others write to.
    """
    from pmem.store.files import private_dir
    from pmem.store.places import state_home

    state = state_home(env)[0]
    private_dir(state)
    place = Path(tempfile.mkdtemp(prefix="doctor-", dir=state))
    try:
        home, project = place / "home", place / "project"
        home.mkdir()
        project.mkdir()
        yield home, project
    finally:
        shutil.rmtree(place, ignore_errors=True)
        with suppress(OSError):
            state.rmdir()


def _judge(
    found: Found,
    project: Path,
    env: Mapping[str, str],
    model: PlayModel,
    code: int | None,
    said: str,
) -> Found:
    from pmem.core.decision import HEADER

    last = " ".join(said.split())[-300:]
    if code is None:
        return _with(found, Check("runs", False, f"not through after {LIMIT} s: {last}"), "none")
    if not model.asked:
        say = f"ended with {code} and asked its model nothing: {last}"
        return _with(found, Check("runs", False, say), "none")
    found.checks.append(
        Check("runs", code == 0, f"ended with {code}" + (f": {last}" * (code != 0)))
    )
    codes = _recorded(project, env)
    if not codes:
        say = "no hook told pmem anything"
        return _with(found, Check("hook", False, say, "do settings switch hooks off?"), "none")
    right = codes[:3] == [3, 3, 0]
    found.checks.append(Check("hook", True, f"{len(codes)} commands recorded"))
    found.checks.append(Check("exit codes", right, ", ".join(map(str, codes))))
    found.checks.extend(transcript_checks(project, env))
    counts = [json.dumps(body, ensure_ascii=False).count(HEADER) for body in model.asked]
    if not any(counts):
        say = "none came back in a request to the model"
        return _with(found, Check("reminder", False, say, "please report it"), "confirm-only")
    once = max(counts) == 1 and counts.index(1) == len(COMMANDS)
    say = "in the request that follows, once" if once else f"times in each request: {counts}"
    return _with(found, Check("reminder", once, say), "verified")


def transcript_checks(project: Path, env: Mapping[str, str]) -> Iterator[Check]:
    """Whether pmem can read what the agent itself kept of the trial, if it kept anything here."""
    from pmem.agents.transcripts.here import find
    from pmem.agents.transcripts.read import read

    name, next = "transcript", "a resumed session begins with what pmem itself recorded"
    try:
        paths = find(project, env)
        steps = max((len(read(path).steps) for path in paths), default=0)
    except (OSError, ValueError) as error:
        yield Check(name, False, str(error), next)
        return
    if steps:
        yield Check(name, True, f"{steps} steps read from what the agent keeps")
    else:
        yield Check(name, None, "pmem found none to read", next)


def _recorded(project: Path, env: Mapping[str, str]) -> list[int | None]:
    """The exit codes of the commands that pmem recorded."""
    from pmem.store.project import find_project
    from pmem.store.session_log import read_steps
    from pmem.store.sessions import list_sessions

    codes: list[int | None] = []
    for session in list_sessions(find_project(project, env)):
        steps = read_steps(session.path).steps
        codes += [step.exit_code for step in steps if step.kind == "command"]
    return codes


def _run(words: list[str], cwd: Path, env: Mapping[str, str]) -> tuple[int | None, str]:
    """A program's exit code (None: it had to be ended) and the end of what it said."""
    with subprocess.Popen(
        words,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=LIMIT)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]


def _inside(env: Mapping[str, str], path: Path, home: Path) -> dict[str, str]:
    """What of the user's environment a trial may see: no keys, no settings of agents or pmem.

    An agent may be started through a version manager, which has to find its own things.
    """
    wanted = ("LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "XDG_RUNTIME_DIR", "SHELL")
    kept = {name: env[name] for name in wanted if name in env}
    for name, place in MANAGERS.items():
        own = Path(env.get(name) or Path(env.get("HOME", "/")) / place)
        if own.is_dir():
            kept[name] = str(own)
    search = f"{path.parent}{os.pathsep}{env.get('PATH', os.defpath)}"
    return {**kept, "HOME": str(home), "PATH": search}


def _with(found: Found, check: Check, tier: str | None = None) -> Found:
    from dataclasses import replace

    return replace(found, checks=[*found.checks, check], tier=tier or found.tier)


def told(value: Check | Found) -> dict[str, Any]:
    """As JSON tells it."""
    from dataclasses import asdict

    return asdict(value)
