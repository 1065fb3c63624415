"""Work side by side: all of it, told as it ends, with whatever it raised."""

from __future__ import annotations

from threading import Barrier, Event, current_thread, main_thread

import pytest

from pmem.cli.at_once import each


@pytest.mark.parametrize("at_once", [1, 2, 7])
def test_every_item_is_done_once(at_once: int) -> None:
    done = {item: result() for item, result in each(range(50), lambda n: n * n, at_once)}
    assert done == {n: n * n for n in range(50)}


def test_one_at_a_time_is_done_here() -> None:
    threads = [result() for _, result in each("ab", lambda _: current_thread(), 1)]
    assert threads == [main_thread()] * 2


def test_several_are_under_way_together() -> None:
    met = Barrier(3)
    assert sorted(result() for _, result in each(range(3), lambda _: met.wait(60), 3)) == [0, 1, 2]


@pytest.mark.parametrize("at_once", [1, 2])
@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_what_it_raises_is_raised_where_it_is_asked_for(at_once: int, error: BaseException) -> None:
    def work(n: int) -> int:
        if n == 1:
            raise error
        return n

    for item, result in each(range(4), work, at_once):
        if item == 1:
            with pytest.raises(type(error)):
                result()
        else:
            assert result() == item


def test_who_stops_asking_starts_no_more() -> None:
    let_go, begun = Event(), []

    def work(n: int) -> int:
        begun.append(n)
        if n:
            let_go.wait(60)
        return n

    outcomes = each(range(100), work, 2)
    assert next(outcomes)[0] == 0
    outcomes.close()
    let_go.set()
    assert len(begun) < 10
