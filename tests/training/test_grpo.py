"""GRPO on a CPU: what a tiny model earns at the pivots rises, its tools carried out."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import scripted_runs
import trl_venv
from trained import SYSTEM, Place

from pmem.memory.model.tools import carry_out
from pmem.memory.prompts import load_prompts
from pmem.training.calls import Turn as Said
from pmem.training.episode import Played
from pmem.training.grounds import gather
from pmem.training.measured import Shown
from pmem.training.policies import keep
from pmem.training.rows import messages_of, offered
from pmem.training.turns import Turn

pytestmark = pytest.mark.slow

SHORT = {"system": SYSTEM, "manage": "Keep what matters.", "decide": "Now decide."}
UPDATES = 32
SFT = ("--full", "--batch", "8", "--at-once", "8", "--learning-rate", "0.01", "--steps", "60",
       "--evaluate", "0")  # fmt: skip
GRPO = ("--full", "--learning-rate", "0.001", "--turns", "5", "--generations", "6", "--at-once",
        "30", "--max-answer", "96", "--temperature", "0.8")  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Labelled runs (`runs`), and a model (`tuned`) that knows the forms and not when to speak: at
    each pivot it was shown both a reminder and silence."""
    python = trl_venv.python()
    there = Place(tmp_path_factory.mktemp("grpo"))
    prompts = there / ".config" / "pmem" / "prompts"
    prompts.mkdir(parents=True)
    for name, text in SHORT.items():
        (prompts / f"{name}.md").write_text(text)
    runs = scripted_runs.write(there / "runs", most=2)
    (runs / "labels" / "played_decisions.jsonl").unlink()
    rows = list(both_ways(gather(runs).sides.train, Shown(texts=load_prompts(prompts))))
    scripted_runs.put(there / "rows" / "train.jsonl", rows)
    made = subprocess.run(
        [python, Path(__file__).with_name("tiny_model.py"), "rows/train.jsonl", "tiny"],
        env=there.environment(), cwd=there.home, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[-2000:]
    args = ("train", "sft", "--model", "tiny", "--data", "rows", "-o", "tuned", *SFT)
    done = there.pmem(*args, training=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return there


def both_ways(turns: Any, shown: Shown) -> Iterator[dict[str, Any]]:
    """Each turn with a reminder and with silence, a fact kept before."""
    about = {turn.run: turn.about for turn in turns if turn.about}
    for turn in turns:
        text = about.get(turn.run, "main.go failed to build at step 2.")
        for answer in (
            "<no_intervention/>",
            f'<context_for_action entries="fact">{text}</context_for_action>',
        ):
            yield row(turn, Played((keep("fact", text),), answer=answer), shown)


def row(turn: Turn, played: Played, shown: Shown) -> dict[str, Any]:
    told = tuple(one.told for one in carry_out(played.calls, turn.bank()))
    talk = [
        Said("assistant", "", played.calls),
        Said("user", shown.question["content"], (), told),
        Said("assistant", played.answer or ""),
    ]
    return {"messages": messages_of(talk, shown.opening(turn)), "tools": offered()}


def grpo(place: Place, out: str, *more: str) -> subprocess.CompletedProcess[str]:
    args = ("train", "grpo", "--model", "tuned", "--data", "runs", "-o", out, *GRPO, *more)
    return place.pmem(*args, training=True)


@pytest.fixture(scope="module")
def learned(place: Place) -> dict[str, Any]:
    done = grpo(place, "learned", "--steps", str(UPDATES), "--json")
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_the_mean_reward_rises_over_the_start(learned: dict[str, Any]) -> None:
    course = [value for _, value in learned["reward"]]
    assert len(course) == UPDATES == learned["updates"]
    assert sum(course[-8:]) / 8 > sum(course[:4]) / 4 + 0.2, course
    before, after = (learned[when]["training"] for when in ("before", "after"))
    assert after["reward"] > before["reward"], (before, after)
    assert after["valid"] > 0.9


def test_its_tools_were_carried_out(learned: dict[str, Any]) -> None:
    # the sum over the updates of calls an episode: the model begins with few that are in form
    assert learned["tool_calls"] > 0.5
    assert {"agreement", "format", "grounding"} <= learned["parts"].keys()


def test_the_curve_is_a_picture_and_the_pivots_are_told(
    place: Place, learned: dict[str, Any]
) -> None:
    picture = ElementTree.parse(place / "learned/reward.svg").getroot()
    lines = [one for one in picture.iter() if one.tag.endswith("polyline")]
    assert [len(one.get("points", "").split()) for one in lines] == [UPDATES, UPDATES]
    pivots = [json.loads(line) for line in (place / "learned/pivots.jsonl").open()]
    assert len(pivots) == learned["pivots"]["training"] and all(one["why"] for one in pivots)
    assert learned["pivots"]["held_out"] > 0
    assert not (place / "learned/states").exists()


def test_stopped_and_gone_on_with_it_learns_the_same(place: Place, learned: dict[str, Any]) -> None:
    """The same seed gives the same rewards, a Ctrl-C in between or not."""
    args = ("train", "grpo", "--model", "tuned", "--data", "runs", "-o", "again", *GRPO,
            "--steps", "3")  # fmt: skip
    child = subprocess.Popen(
        place.command(*args, training=True), env=place.environment(), cwd=place.home,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        kept = place / "again/states/checkpoint-1/trainer_state.json"
        end = time.monotonic() + 300
        while not kept.exists() and child.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=200)[1]
    finally:
        child.kill()
    assert child.returncode == 130 and "--resume goes on" in said, said[-2000:]
    assert "Traceback" not in said
    done = place.pmem(*args, "--resume", "--json", training=True)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert told["reward"] == learned["reward"][:3]
    assert told["before"] == learned["before"]


CONVERSATION = """
import json, sys
from pathlib import Path
from pmem.training import grpo
from pmem.training.course import Stop
from pmem.training.grounds import gather
from pmem.training.measured import Shown
from pmem.training.open_model import asked, load
from pmem.training.rewards import load_weights

out = Path("conversation")
options = grpo.Options("tuned", load_weights(), prompts=".config/pmem/prompts", rank=0)
model = load("tuned")
shown = Shown(texts=options.texts)
sides = gather(Path("runs")).sides
turns, rows = grpo._rows(model, sides.train, 8192, shown)
trainer = grpo._trainer(options, model, shown, turns, rows, out, Stop(), print)
row = json.loads(open("rows/train.jsonl").readline())["messages"]
trainer._batch_environments = [None]
ids = trainer._tokenize_prompts([rows[0]["prompt"]])[0][0]
assert ids == asked(model.tokenizer, row[:2]), "the opening is the one that is served"
first = asked(model.tokenizer, row[:2])
whole = asked(model.tokenizer, row[:5])
suffix = trainer._get_tool_suffix_ids([{k: m for k, m in row[3].items() if k != "tool_call_id"}])
assert whole[-len(suffix):] == suffix, "phase 2 is asked for as it is when served"
print(len(first), len(whole), len(suffix))
"""


def test_the_conversation_is_the_one_a_model_is_served_with(place: Place) -> None:
    done = subprocess.run(
        [trl_venv.python(), "-c", CONVERSATION], cwd=place.home, env=place.environment(),
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


def test_without_the_extra_it_is_told_what_to_install(place: Place) -> None:
    args = ("train", "grpo", "--model", "tuned", "--data", "runs", "-o", "nothing")
    done = place.pmem(*args)
    assert done.returncode == 125 and "TRL and torch" in done.stderr and "trl" in done.stderr
    assert "Traceback" not in done.stderr
