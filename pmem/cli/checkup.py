"""What `pmem doctor` looks at: this machine, this project, and each agent in a real round trip."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pmem.agents.play_model import PlayModel
    from pmem.agents.protocol import AgentAdapter
    from pmem.agents.trial import Trial
    from pmem.store.project import Project

#: Seconds an agent may take for the whole play, and to say its version.
LIMIT, VERSION_LIMIT = 90, 20
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
#: Errors of the session process younger than this are told (seconds).
RECENT = 7 * 86400


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `ok` is None where it could not be checked; `next` is what to do."""

    name: str
    ok: bool | None
    say: str
    next: str = ""


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


def machine(env: Mapping[str, str]) -> Iterator[Check]:
    """Python, the private directory for sockets, the state directory."""
    from pmem import __version__
    from pmem.session import run_dir
    from pmem.store.places import state_home

    python = ".".join(map(str, sys.version_info[:3]))
    yield Check("pmem", True, f"{__version__}, Python {python} ({sys.executable})")
    try:
        place = run_dir.make(env)
        try:
            run_dir.listen(place).close()
            length = len(os.fsencode(place / run_dir.SOCKET))
            yield Check("socket", True, f"{place.parent}, {length} of {run_dir.MAX_SOCKET_PATH}")
        finally:
            run_dir.remove(place)
    except OSError as error:
        yield Check("socket", False, str(error), "set XDG_RUNTIME_DIR to a short path of your own")
    state, remark = state_home(env)
    above = next(p for p in (state, *state.parents) if p.exists())
    writable = os.access(above, os.W_OK)
    yield Check("state", writable, remark or str(state), "" if writable else f"make {above} yours")


def project_checks(project: Project, env: Mapping[str, str]) -> Iterator[Check]:
    """The project's own directory, errors of its sessions, and what is attached to it."""
    from pmem.store.attached import records
    from pmem.store.git_files import tracks

    if project.read_only:
        yield Check("project", None, project.remark)
        return
    above = next(p for p in (project.dir, *project.dir.parents) if p.exists())
    said = str(project.dir) if project.dir.exists() else f"{project.dir}, made when it is needed"
    writable = os.access(above, os.W_OK)
    yield Check("project", writable, said, "" if writable else "name a place with --dir")
    if tracks(project.root, ".pmem/bank.toml"):
        yield Check("git", False, "git keeps .pmem/bank.toml", "git rm --cached -r .pmem")
    log = project.state / "errors.log"
    if log.exists() and time.time() - log.stat().st_mtime < RECENT:
        yield Check("errors", False, f"a session failed lately: {log}", "please report it")
    for note in records(env):
        if Path(note.root) == project.root:
            yield _attached(note.agent, Path(note.file))


def _attached(agent: str, file: Path) -> Check:
    from pmem.hook.line import attached_command

    again = f"pmem attach {agent} writes it anew"
    try:
        there = json.dumps(attached_command(agent), ensure_ascii=False)[1:-1] in file.read_text()
    except (OSError, UnicodeDecodeError):
        there = False
    name = f"attached: {agent}"
    if there:
        return Check(name, True, str(file))
    return Check(name, False, f"{file} does not name this pmem", again)


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
    told = re.search(r"\d+\.\d+(\.\d+)?[\w.+-]*", done.stdout + done.stderr)
    return told[0].rstrip(".") if told and done.returncode == 0 else ""


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
    with PlayModel(COMMANDS) as model:
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
    counts = [json.dumps(body, ensure_ascii=False).count(HEADER) for body in model.asked]
    if not any(counts):
        say = "none came back in a request to the model"
        return _with(found, Check("reminder", False, say, "please report it"), "confirm-only")
    once = max(counts) == 1 and not any(counts[:-1])
    say = "in the request that follows, once" if once else f"times in each request: {counts}"
    return _with(found, Check("reminder", once, say), "verified")


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
