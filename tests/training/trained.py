"""A tiny model, trained with `pmem train sft` on recorded decisions, as several tests need it.

The rows are short ones: pmem's own system prompt is exchanged for a sentence (a file in the user's
configuration does that), and of long windows the beginning and the end are kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trl_venv
from worked import FOLLOWED, REPLIES, TASK, step

CHECKOUT = Path(__file__).parents[2]
SHARED = CHECKOUT.parent / "shared" / "trajectories"
SYSTEM = "You keep a small memory of an agent at work and decide whether to speak."
#: A build that fails, of which the model speaks, and quiet work of another task.
RUNS = {
    "build": (TASK, FOLLOWED[:7]),
    "quiet": (
        "Tidy up the files.",
        [step(1, "ls", "Makefile"), *(step(n, f"touch f{n}") for n in range(2, 8))],
    ),
}
STEPS = 200
#: As many rows at a time as there are, one thread: the fastest on a machine that others use too.
HOW = ("--full", "--batch", "10", "--at-once", "10", "--learning-rate", "0.01")


@dataclass(frozen=True)
class Place:
    """A directory with a HOME (`home`), recorded runs, their rows (`data`), a tiny model (`tiny`)
    and, once it is trained, what was made of it (`tuned`)."""

    home: Path

    def __truediv__(self, name: str) -> Path:
        return self.home / name

    def pmem(self, *args: str, training: bool = False) -> subprocess.CompletedProcess[str]:
        """pmem in this HOME; with `training`, where TRL is."""
        return subprocess.run(
            self.command(*args, training=training),
            env=self.environment(),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=580,
        )

    def command(self, *args: str, training: bool = False) -> list[str]:
        python = str(trl_venv.python()) if training else sys.executable
        return [python, "-m", "pmem", *args]

    def environment(self) -> dict[str, str]:
        return trl_venv.environment(self.home)

    def sft(self, out: str, *more: str) -> tuple[str, ...]:
        """The arguments of a training on its rows."""
        return ("train", "sft", "--model", "tiny", "--data", "data", "-o", out, *HOW, *more)


def prepare(home: Path) -> Place:
    """Recorded runs, rows of them and of what a strong model played, and a model to be trained."""
    python = trl_venv.python()  # skips before any work where it cannot be had
    place = Place(home)
    prompts = home / ".config" / "pmem" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "system.md").write_text(SYSTEM)
    (home / "replies.json").write_text(json.dumps({"replies": REPLIES}))
    for name, (task, steps) in RUNS.items():
        lines = [{"task": task, "agent": "claude"}, *(one.to_json() for one in steps)]
        (home / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        _well(place.pmem("replay", f"{name}.jsonl", "--model", "scripted:replies.json",
                         "--prompts-to", f"calls/{name}"))  # fmt: skip
        _well(place.pmem("train", "export", f"calls/{name}", "--all", "-o", f"rows/{name}"))
    played: list[dict[str, Any]] = []
    if SHARED.is_dir():
        _well(place.pmem("train", "export", "--dataset", str(SHARED), "-o", "rows/played"))
        played = _few(_rows(home / "rows" / "played"))
    (home / "data").mkdir()
    _write(home / "data" / "train.jsonl", [*played, *_rows(home / "rows" / "build")])
    _write(home / "data" / "validation.jsonl", _rows(home / "rows" / "quiet"))
    _well(
        subprocess.run(
            [python, Path(__file__).with_name("tiny_model.py"), "data/train.jsonl", "tiny"],
            env=place.environment(), cwd=home, capture_output=True, text=True, timeout=300,
        )
    )  # fmt: skip
    return place


def _well(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr[-2000:]


def _rows(folder: Path) -> list[dict[str, Any]]:
    files = (folder / name for name in ("train.jsonl", "validation.jsonl"))
    return [json.loads(line) for file in files for line in file.open(encoding="utf-8")]


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def _few(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two that speak and four that keep something and are silent, the shortest answers that save no
    attempts: a model this small learns which of two like names comes next last of all."""

    def size(row: Mapping[str, Any]) -> int:
        return sum(len(json.dumps(message)) for message in row["messages"][2:])

    kept = [r for r in rows if r["messages"][2].get("tool_calls")]
    kept = sorted((r for r in kept if "save_procedural" not in json.dumps(r["messages"])), key=size)
    speak = [r for r in kept if "<context_for_action" in r["messages"][-1]["content"]]
    silent = [r for r in kept if r not in speak]
    return [_short(row) for row in (*speak[:2], *silent[:4])]


def _short(row: Mapping[str, Any]) -> dict[str, Any]:
    messages = [dict(message) for message in row["messages"]]
    news = messages[1]["content"]
    end = news.rindex("\n\nYou are asked")
    messages[0]["content"] = SYSTEM
    messages[1]["content"] = news[:100] + news[:end][-300:] + news[end:]
    return {**row, "messages": messages}
