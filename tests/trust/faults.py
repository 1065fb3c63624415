"""Faults done to the store and to real session processes, and what came of each.

Every function does its fault so many times in a directory of its own, and returns a `Row`. Runs in
a process of its own (`python faults.py NAME RUNS DIR`), since it forks, mounts and sets limits.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from faulty import CannotBeTried, Row
from session_faults import (
    a_thousand_hooks,
    full_disk_under_a_session,
    huge_outputs,
    kill_a_session,
    no_descriptors,
    read_only,
    stopped,
    the_directory_goes,
)
from store_faults import clock_jumps, full_disk, kill_at_every_point, lock_kept, no_locks

FAULTS: dict[str, Callable[[int, Path], Row]] = {
    fault.__name__: fault
    for fault in (
        *(kill_at_every_point, kill_a_session, full_disk, full_disk_under_a_session, read_only),
        *(no_locks, lock_kept, clock_jumps, a_thousand_hooks, huge_outputs, no_descriptors),
        *(stopped, the_directory_goes),
    )
}


def main() -> None:
    name, runs, place = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    try:
        print(json.dumps(asdict(FAULTS[name](runs, place))))
    except CannotBeTried as reason:
        print(json.dumps({"cannot": str(reason)}))


if __name__ == "__main__":
    main()
