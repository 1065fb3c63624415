"""The leash: a session without a terminal lives as long as one process of somebody else's."""

from __future__ import annotations

import os
import time

#: Without /proc, the start time is asked for only so often (seconds).
ASK_EVERY = 30.0


class Leash:
    """Tells whether a process is still the one it was when the leash was taken.

    A process id may be used again: the time at which the process started tells them apart.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._born = started(pid)
        self._asked = time.monotonic()

    def holds(self) -> bool:
        """Whether the process still runs; a zombie does not."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        if not os.path.exists("/proc/self/stat"):  # noqa: PTH110
            if time.monotonic() - self._asked < ASK_EVERY:
                return True
            self._asked = time.monotonic()
        return started(self.pid) == self._born != ""


def started(pid: int) -> str:
    """When a process started, in whatever form the system tells; "" if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
        return "" if fields[0] in (b"Z", b"X") else fields[19].decode()
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):  # noqa: PTH110
            return ""
    except (OSError, IndexError):
        return ""
    import subprocess

    told = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True
    ).stdout.split(None, 1)
    return "" if len(told) < 2 or told[0].startswith("Z") else told[1].strip()
