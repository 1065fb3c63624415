"""Asking again: a few times, with growing pauses, within the time there is."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from pmem.models.protocol import ModelError, Trouble

T = TypeVar("T")

TRIES = 4
#: Pause before the second try, in seconds; each next one is twice as long.
FIRST_PAUSE = 1.0


def with_retries(
    call: Callable[[float], T],
    seconds: float,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
) -> T:
    """What `call` returns; it is given the seconds that are left.

    A busy or unreachable provider is asked again while there is time, after the pause it names
    if it names one. Raises the last ModelError. A clock that jumps changes nothing.
    """
    end = clock() + seconds
    pause = FIRST_PAUSE
    for attempt in range(1, TRIES + 1):
        left = end - clock()
        try:
            return call(max(left, 0.1))
        except ModelError as error:
            wait = (
                error.retry_after
                if error.retry_after is not None
                else pause * (0.75 + chance() / 2)
            )
            if not error.passing or attempt == TRIES:
                raise
            if clock() + wait >= end:
                raise ModelError(
                    error.trouble, f"{error}; gave up after {attempt} tries in {seconds:g} s"
                ) from error
            sleep(wait)
            pause *= 2
    raise ModelError(Trouble.TIME, f"no answer in {seconds:g} s")
