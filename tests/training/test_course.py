"""What a training leaves behind: a state to go on from, and a picture."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pmem.training.course import may_go_on, newest, points, stoppable
from pmem.training.curve import curve

ASKED = {"model": "m", "seed": 0}


def test_only_the_training_that_was_begun_goes_on(tmp_path: Path) -> None:
    states = tmp_path / "out/states"
    with pytest.raises(ValueError, match="there is no training in"):
        may_go_on(states, ASKED, resume=True)
    may_go_on(states, ASKED, resume=False)
    may_go_on(states, ASKED, resume=True)  # stopped before the first state: begin anew
    with pytest.raises(ValueError, match="begun with another seed"):
        may_go_on(states, {**ASKED, "seed": 1}, resume=True)
    may_go_on(states, {**ASKED, "seed": 1}, resume=False)  # nothing is lost by it
    (states / "checkpoint-3").mkdir()
    (states / "checkpoint-3/trainer_state.json").write_text("{}")
    with pytest.raises(ValueError, match="go on with --resume"):
        may_go_on(states, ASKED, resume=False)


def test_the_newest_state_is_the_last_whole_one(tmp_path: Path) -> None:
    for name in ("checkpoint-9", "checkpoint-10", "checkpoint-11", "checkpoint-x"):
        (tmp_path / name).mkdir()
    assert newest(tmp_path) is None
    for name in ("checkpoint-9", "checkpoint-10", "checkpoint-x"):
        (tmp_path / name / "trainer_state.json").write_text("{}")
    found = newest(tmp_path)
    assert found is not None and found.name == "checkpoint-10"


def test_the_first_ctrl_c_waits_for_the_update_and_the_second_does_not() -> None:
    with pytest.raises(KeyboardInterrupt), stoppable() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.asked  # and the work went on until here
    with pytest.raises(KeyboardInterrupt), stoppable():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the second one was not heard")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_curve_stays_in_its_picture() -> None:
    log = [{"step": n, "loss": 8 / n, "eval_loss": 9 / n} for n in range(1, 40)]
    lines = {"<training>": points(log, "loss"), "validation": points(log[::10], "eval_loss")}
    root = ElementTree.fromstring(curve("Loss & more", lines))
    _, _, width, height = map(float, root.get("viewBox", "").split())
    drawn = [one.get("points", "") for one in root.iter() if one.tag.endswith("polyline")]
    assert [len(one.split()) for one in drawn] == [39, 4]
    for pair in " ".join(drawn).split():
        x, y = map(float, pair.split(","))
        assert 0 <= x <= width and 0 <= y <= height
    assert "<training>" in [one.text for one in root.iter()]
    ElementTree.fromstring(curve("nothing yet", {}))
