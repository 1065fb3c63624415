"""The course of a training: told as it goes, stopped by Ctrl-C with all that was learned kept."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from pmem.store import files

#: Called after each update: how many are done, of how many, and the latest figure that is logged.
Progress = Callable[[int, int, float | None], None]

#: A directory of a training's state, as transformers names it.
_CHECKPOINT = "checkpoint-"
_ASKED = "asked.json"


class Stop:
    """Whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.asked = False


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Around a training: the first Ctrl-C lets the update at hand end and be kept, and then raises
    KeyboardInterrupt here; the second one raises it at once."""
    stop = Stop()

    def pressed(number: int, frame: FrameType | None) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
    if stop.asked:
        raise KeyboardInterrupt


def follower(transformers: Any, stop: Stop, progress: Progress, figure: str = "loss") -> Any:
    """A callback for a trainer of transformers that tells of `figure` and heeds `stop`."""

    class Follower(transformers.TrainerCallback):  # type: ignore[misc]
        latest: float | None = None

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            self.latest = (logs or {}).get(figure, self.latest)
            progress(state.global_step, state.max_steps, self.latest)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            progress(state.global_step, state.max_steps, self.latest)
            if stop.asked:
                control.should_save = control.should_training_stop = True

    return Follower()


def newest(folder: Path) -> Path | None:
    """The newest whole state of a training below a directory."""
    found = [
        path
        for path in folder.glob(f"{_CHECKPOINT}*")
        # written last: a state that was being written when the machine went down has none
        if path.name.removeprefix(_CHECKPOINT).isdecimal()
        and (path / "trainer_state.json").exists()
    ]
    return max(found, key=lambda path: int(path.name.removeprefix(_CHECKPOINT)), default=None)


def may_go_on(states: Path, asked: Mapping[str, Any], *, resume: bool) -> None:
    """What is asked for is written beside the states of a training that begins. Raises ValueError
    where a training that was stopped is there, and with `resume` where none is or another one."""
    out = states.parent
    if not resume:
        if newest(states) is not None:
            raise ValueError(
                f"{out} holds a training that was stopped; go on with --resume, or name another -o"
            )
        files.write_file(states / _ASKED, json.dumps(asked).encode())
        return
    had: Any = None
    with suppress(OSError, ValueError):
        had = json.loads((states / _ASKED).read_text("utf-8"))
    if had is None:
        raise ValueError(f"there is no training in {out} to go on with; leave --resume out")
    other = [name for name in asked if had.get(name) != asked[name]]
    if other:
        raise ValueError(
            f"the training in {out} was begun with another {', '.join(other)}; "
            "say the same again, or name another -o"
        )


def points(history: Sequence[dict[str, Any]], figure: str) -> list[tuple[float, float]]:
    """The course of a figure, as (update, value)."""
    told = ((log["step"], log.get(figure)) for log in history)
    return [(step, round(float(value), 5)) for step, value in told if value is not None]
