"""Results: one folder for one run of a benchmark with one arm, a line for every finished trial.

`config.json` says what was run, with which versions. `trials.jsonl` has a line a trial, written
when it is over. `decisions/TRIAL.jsonl` holds what memory decided in it. A trial counts once its
line ends with a newline: what a killed run left behind it is run again, and nothing else.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pmem.core import json_text

FORMAT = 1
CONFIG = "config.json"
TRIALS = "trials.jsonl"
DECISIONS = "decisions"
#: A reward this close to 1 is a solved task.
SOLVED = 1 - 1e-6


@dataclass(frozen=True)
class Config:
    """What is run. `k` is the trials of a task, `turns` what the action agent may take.

    Temperatures are None where the provider's own counts. `tasks` is by domain; a benchmark
    without domains has one, "".
    """

    benchmark: str
    arm: str
    action_model: str
    memory_model: str = ""
    pure: bool = False
    interval: int = 5
    window: int = 8
    action_temperature: float | None = None
    memory_temperature: float | None = None
    turns: int = 50
    k: int = 1
    tasks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The arm in a table."""
        return "pure" if self.pure else self.arm

    @property
    def trials(self) -> int:
        """How many trials there are to be."""
        return self.k * sum(len(tasks) for tasks in self.tasks.values())


@dataclass(frozen=True)
class Took:
    """What the calls of one model took; `money` is in US dollars, None where no price is known.

    `input` counts all tokens that went in, those from a cache among them.
    """

    calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    money: float | None = 0.0

    def __add__(self, other: Took) -> Took:
        known = self.money is not None and other.money is not None
        return Took(
            self.calls + other.calls,
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            (self.money or 0.0) + (other.money or 0.0) if known else None,
        )


@dataclass(frozen=True)
class Trial:
    """One finished trial. `reward` is the benchmark's own; a trial that broke has `error` and 0.

    `points` counts the calls of the agent before which memory could speak, `spoke` those with a
    note; `seconds` is the whole trial, `memory_seconds` what of it the agent waited for memory.
    `source` is the benchmark's own name for it, where it has one.
    """

    domain: str
    task: str
    n: int
    reward: float
    steps: int = 0
    points: int = 0
    spoke: int = 0
    seconds: float = 0.0
    memory_seconds: float = 0.0
    action: Took = field(default_factory=Took)
    memory: Took = field(default_factory=Took)
    error: str = ""
    source: str = ""

    @property
    def id(self) -> tuple[str, str, int]:
        """What makes it one of its run, and pairs it with that of another arm."""
        return self.domain, self.task, self.n

    @property
    def solved(self) -> bool:
        """Whether the benchmark gave the whole reward."""
        return self.reward >= SOLVED

    @property
    def file(self) -> str:
        """The name of its file of decisions: letters, digits and what is harmless in a name."""
        said = "__".join(part for part in (self.domain, self.task, str(self.n)) if part)
        return re.sub(r"[^\w.@+-]", "_", said)[:200] + ".jsonl"


@dataclass
class Results:
    """A results folder, as it is on disk."""

    folder: Path
    config: Config
    trials: list[Trial]
    versions: Mapping[str, str] = field(default_factory=dict)

    def missing(self) -> list[tuple[str, str, int]]:
        """The trials that are still to be run: by domain, task, number."""
        done = {trial.id for trial in self.trials}
        wanted = (
            (domain, task, n)
            for n in range(self.config.k)
            for domain, tasks in self.config.tasks.items()
            for task in tasks
        )
        return [id for id in wanted if id not in done]

    def add(self, trial: Trial, decisions: Iterable[Mapping[str, Any]] = ()) -> None:
        """Write a finished trial; on disk when this returns."""
        place = self.folder / DECISIONS
        place.mkdir(exist_ok=True)
        _write(place / trial.file, "".join(_line(one) for one in decisions))
        with (self.folder / TRIALS).open("ab") as file:
            file.write(_line(asdict(trial)).encode())
            file.flush()
            os.fsync(file.fileno())
        self.trials.append(trial)

    def decisions(self, trial: Trial) -> list[dict[str, Any]]:
        """What memory decided in a trial, as recorded."""
        path = self.folder / DECISIONS / trial.file
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def begin(
    folder: Path, config: Config, versions: Mapping[str, str], *, resume: bool = False
) -> Results:
    """A new folder, or with `resume` one to go on with, its torn last line cut off.

    Raises ValueError with a sentence if there is a run already, or one of another configuration.
    """
    versions = {"python": platform.python_version(), **versions}
    if (folder / CONFIG).exists():
        if not resume:
            raise ValueError(f"{folder} holds a run already; --resume goes on with it")
        found = load(folder)
        differs = [
            f.name for f in fields(Config) if _of(found.config, f.name) != _of(config, f.name)
        ]
        if differs:
            raise ValueError(
                f"{folder} holds a run with other settings ({', '.join(differs)});"
                " name another folder"
            )
        _cut(folder / TRIALS)
        return found
    if (folder / TRIALS).exists():
        raise ValueError(f"{folder} has {TRIALS} and no {CONFIG}; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    told = {
        "format": FORMAT,
        **asdict(config),
        "versions": versions,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    _write(folder / CONFIG, json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    return Results(folder, config, [], versions)


def load(folder: Path) -> Results:
    """Read a folder; a last line that was cut short is left out.

    Raises ValueError naming the file (and line) that is missing or cannot be used.
    """
    path = folder / CONFIG
    told = _object(path, _text(path))
    if told.get("format") != FORMAT:
        raise ValueError(f"{path} is not of the format {FORMAT} that this pmem reads")
    config = _made(Config, told, str(path))
    if not all(isinstance(tasks, list) for tasks in config.tasks.values()):
        raise ValueError(f"{path}: tasks are no lists by domain")
    trials: dict[tuple[str, str, int], Trial] = {}
    path = folder / TRIALS
    lines = _text(path).split("\n")[:-1] if path.exists() else []
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        row = _object(where, line)
        for name in ("action", "memory"):
            row[name] = _made(Took, row.get(name) or {}, where)
        trial = _made(Trial, row, where)
        if trial.id in trials:
            raise ValueError(f"{where}: the trial {trial.id} is there twice")
        trials[trial.id] = trial
    return Results(folder, config, list(trials.values()), told.get("versions") or {})


def _of(config: Config, name: str) -> Any:
    return json.loads(json.dumps(getattr(config, name)))


def _made(kind: Any, row: Mapping[str, Any], where: str) -> Any:
    known = {f.name: f.type for f in fields(kind)}
    for name, value in row.items():
        wanted = _KINDS.get(str(known.get(name, "")))
        if wanted is not None and (not isinstance(value, wanted) or _is_bool(value, wanted)):
            raise ValueError(f"{where}: {name} has the wrong type, {type(value).__name__}")
    try:
        return kind(**{name: value for name, value in row.items() if name in known})
    except TypeError as error:
        raise ValueError(f"{where}: {str(error).rpartition('__init__() ')[2]}") from None


_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "Mapping[str, Sequence[str]]": (dict,),
    "Mapping[str, Any]": (dict,),
}


def _is_bool(value: Any, wanted: tuple[type, ...]) -> bool:
    return isinstance(value, bool) and bool not in wanted


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, default=str) + "\n"


def _write(path: Path, text: str) -> None:
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def _cut(path: Path) -> None:
    if path.exists():
        whole = path.read_bytes()
        with path.open("r+b") as file:
            file.truncate(whole.rfind(b"\n") + 1)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ValueError(f"{path} is not there; is {path.parent} a results folder?") from None
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error.reason}") from error


def _object(where: Path | str, text: str) -> dict[str, Any]:
    try:
        value = json_text.loads(text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{where}: it is no object")
    return value
