"""Work that is done side by side in this process, told as it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def each(
    items: Sequence[T], work: Callable[[T], R], at_once: int
) -> Iterator[tuple[T, Callable[[], R]]]:
    """Each item as its work ends, with what gives or raises what came of it.

    One at a time it is done where this is called. Several at once have threads that nobody waits
    for: who stops asking leaves what is under way, and it ends with the process.
    """
    if at_once == 1:
        for item in items:
            yield item, _ended(work, item)
        return
    waiting: Queue[T] = Queue()
    ended: Queue[tuple[T, Callable[[], R]]] = Queue()
    over = Event()
    for item in items:
        waiting.put(item)

    def worker() -> None:
        with suppress(Empty):
            while not over.is_set():
                item = waiting.get_nowait()
                ended.put((item, _ended(work, item)))

    try:
        for _ in range(min(at_once, len(items))):
            Thread(target=worker, name="pmem-trial", daemon=True).start()
        for _ in items:
            yield ended.get()
    finally:
        over.set()


def _ended(work: Callable[[T], R], item: T) -> Callable[[], R]:
    try:
        result = work(item)
    except BaseException as error:  # it is raised where somebody hears it, Ctrl-C too
        raised = error

        def failed() -> R:
            raise raised

        return failed
    return lambda: result
