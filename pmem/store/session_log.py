"""SessionLog: what one session did and decided, in its own directory, append-only.

`steps.jsonl` is a header line and then one step a line (the neutral line), `decisions.jsonl` one
memory step a line. The open steps.jsonl is locked for as long as the session lives.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pmem.core.decision_line import settled
from pmem.core.step import Step
from pmem.store import files, jsonl
from pmem.store.tidy import cut

STEPS = "steps.jsonl"
DECISIONS = "decisions.jsonl"
#: The raw prompts and answers of a model behind the decisions.
CALLS = "model.jsonl"
#: Characters a step keeps of its observation, its action and its thought each.
MAX_TEXT = 20_000


def new_session_id(now: float, agent: str, state: Path | None = None) -> str:
    """An id such as `20261130-114207-claude`, from Unix seconds in local time.

    With the project's state directory it is claimed there, so that no other session has it;
    without, four letters at the end make it unique.
    """
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in agent.lower()).strip("-")
    base = f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{name[:24] or 'agent'}"
    if state is None:
        return f"{base}-{secrets.token_hex(2)}"
    id, n = base, 1
    while True:
        try:
            files.private_dir(state)
            (state / id).mkdir(0o700)
        except FileExistsError:
            n += 1
            id = f"{base}-{n}"
            continue
        except OSError:  # nothing can be logged there anyway
            return f"{base}-{secrets.token_hex(2)}"
        (state / id).chmod(0o700)
        return id


class SessionLog:
    """The log of a running session. Never raises: what cannot be written is told in `notes`.

    `header` describes the run (`task`, `agent`, `source`, …); it is written with the first step,
    and may be completed until then.
    """

    def __init__(self, state: Path, session_id: str, header: Mapping[str, Any]) -> None:
        self.dir = state / session_id
        self.header: dict[str, Any] = {
            "task": "",
            "agent": "",
            "source": "pmem",
            "session": session_id,
            "started": round(time.time(), 3),
            "pid": os.getpid(),
            **header,
        }
        self.notes: list[str] = []
        self._open: dict[str, int] = {}
        self._empty = True
        with self._telling():
            self._file(STEPS)

    def describe(self, **header: Any) -> None:
        """Complete the header, as with the task once the user has said it."""
        self.header.update(header)

    def step(self, step: Step) -> None:
        """Record a finished step; long texts keep their head and tail."""
        with self._telling():
            self._append(STEPS, capped(step).to_json())

    def decision(self, record: Mapping[str, Any]) -> None:
        """Record a memory step."""
        with self._telling():
            self._append(DECISIONS, record)

    def call(self, record: Mapping[str, Any]) -> None:
        """Keep a call of the model, as it was sent and answered."""
        with self._telling():
            self._append(CALLS, record)

    def close(self, bank: str | Path | None = None) -> None:
        """End the log, with a copy of the bank file beside it if there is one.

        A session in which nothing happened leaves no log, unless something else is kept there.
        """
        with self._telling():
            if bank is not None and not self._empty:
                with contextlib.suppress(FileNotFoundError):
                    content, _ = files.read_file(bank)
                    files.write_file(self.dir / "bank.toml", content, sync=False)
            if self._empty and self._holds_more():
                self._begin(self._file(STEPS))
                self._empty = False
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()
        if self._empty:
            self._remove()

    def _holds_more(self) -> bool:
        return any(path.name != STEPS for path in self.dir.iterdir())

    def _remove(self) -> None:
        steps = self.dir / STEPS
        with contextlib.suppress(OSError):
            if steps.stat().st_size == 0:
                steps.unlink()
                self.dir.rmdir()

    def _append(self, name: str, record: Mapping[str, Any]) -> None:
        self._empty = False
        fd = self._file(name)
        if name == STEPS:
            self._begin(fd)
        jsonl.append(fd, jsonl.encode(record))

    def _begin(self, fd: int) -> None:
        if os.fstat(fd).st_size == 0:
            header = {**self.header, "task": cut(str(self.header["task"]), MAX_TEXT)}
            jsonl.append(fd, jsonl.encode(header))

    def _file(self, name: str) -> int:
        """The open file; one that was removed under us is begun anew."""
        fd = self._open.get(name)
        if fd is not None:
            if os.fstat(fd).st_nlink:
                return fd
            os.close(self._open.pop(name))
        files.private_dir(self.dir)
        fd = self._open[name] = files.open_append(self.dir / name)
        if name == STEPS:
            with contextlib.suppress(files.Busy):  # who lists sessions holds it for a moment
                files.lock(fd, 0.5)
        return fd

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            note = f"the session's log in {self.dir} has gaps: {error.strerror or error}"
            if note not in self.notes:
                self.notes.append(note)


def capped(step: Step) -> Step:
    """The step with its long texts cut to head and tail, a plain mark between."""
    if max(len(step.observation), len(step.action), len(step.thought)) <= MAX_TEXT:
        return step
    return replace(
        step,
        observation=cut(step.observation, MAX_TEXT, tail=0.5),
        action=cut(step.action, MAX_TEXT, tail=0.5),
        thought=cut(step.thought, MAX_TEXT, tail=0.5),
    )


@dataclass(frozen=True, slots=True)
class Recording:
    """A steps file: its header, its steps, and how many lines could not be read."""

    header: Mapping[str, Any]
    steps: list[Step]
    torn: int = 0


def read_steps(path: Path) -> Recording:
    """Read `steps.jsonl`, or that of a session's directory. Torn lines are skipped and counted.

    Raises OSError if it cannot be read; a file that does not exist yet is an empty recording.
    """
    lines = jsonl.Lines(path / STEPS if path.is_dir() else path)
    header: dict[str, Any] = {}
    steps: list[Step] = []
    bad = 0
    for record in lines:
        if "step" not in record:
            header.update(record)
            continue
        try:
            steps.append(Step.from_json(record))
        except ValueError:
            bad += 1
    return Recording(header, steps, lines.torn + bad)


def folder_of(place: Path) -> Path:
    """A session's directory, named by itself or by a file in it."""
    return place if place.is_dir() else place.parent


def read_call(path: Path, number: int) -> dict[str, Any] | None:
    """The raw record of one call of the model in a session's directory, None if it has none."""
    found = (record for record in jsonl.Lines(path / CALLS) if record.get("n") == number)
    return next(found, None)


def read_decisions(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Read `decisions.jsonl`, or that of a session's directory: records, number of torn lines."""
    lines = jsonl.Lines(path / DECISIONS if path.is_dir() else path)
    return [settled(record) for record in lines], lines.torn
