"""Work beside the answers: none of them waits for a disk, and the loop hears when it is done."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from live import Live, kept, logged

from pmem.session.beside import Beside


def heard(beside: Beside) -> bool:
    return bool(select.select([beside], [], [], 30)[0])


def test_it_is_done_in_a_thread_and_told_once() -> None:
    beside, go, where = Beside(), threading.Event(), list[int]()

    def work() -> None:
        go.wait(30)
        where.append(threading.get_ident())

    beside.do(work)
    assert not select.select([beside], [], [], 0)[0]
    go.set()
    assert heard(beside)
    assert where and where[0] != threading.get_ident()
    beside.heard()
    assert not select.select([beside], [], [], 0)[0]


def test_without_threads_it_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    beside, done = Beside(), list[int]()
    beside.do(lambda: done.append(1))
    assert done and heard(beside)


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_hooks_are_answered_while_a_disk_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk stands still in the midst of a write until the test lets it go on."""
    stuck, go, fsync = tmp_path / "stuck", tmp_path / "go", os.fsync

    def stands_still(fd: int) -> None:
        stuck.touch()
        wait_until(go.exists)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", stands_still)  # as the session process will have it
    root = tmp_path / "project"
    root.mkdir()
    live = Live(root)
    assert live.step("make first")
    wait_until(stuck.exists)
    for n in range(20):
        assert live.step(f"make {n}")
    assert len(logged(live.project)) == 21 and not live.project.bank.exists()
    go.touch()
    live.end()
    told = {"make first": 1, **{f"make {n}": 1 for n in range(20)}}
    assert kept(live.project).items() >= told.items()
