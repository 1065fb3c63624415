"""What a program's own screen does not show is told beside it: in a pane of tmux, else by a
notification. Its screen itself is never painted into.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

#: The least and the most rows of the pane, and at most one row in so many of the program's.
LEAST, MOST, SHARE = 3, 12, 3
#: Set in a pane of ours.
OURS = "PMEM_PANE"
#: Of the environment, what the program in the pane needs: tmux gives it the server's own.
KEPT = (
    *("HOME", "LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "PATH", "PYTHONPATH"),
    *("XDG_STATE_HOME", "XDG_CONFIG_HOME", "PMEM_DIR"),
)


class Beside:
    """Takes the session's messages and tells its banners; the bytes it returns are for the
    terminal, at a place where no sequence of the program's is cut.

    `pane` and `notify` are the settings, `follow` is a command line that shows the reminders of
    the session whose directory is put behind it. The pane is opened once: who closed it does not
    want it. It ends with the command in it.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        pane: str,
        notify: str,
        follow: Sequence[str],
    ) -> None:
        self.env, self.notify, self.follow = env, notify, follow
        self.has_pane = pane != "never" and in_tmux(env)
        self.waits = pane != "always"
        self._log = ""
        self._opened: subprocess.Popen[bytes] | None = None

    def __call__(self, message: Mapping[str, Any]) -> bytes:
        """Tell what the session said, if it is for the person."""
        banner = message.get("banner") if message.get("type") == "banner" else None
        if message.get("type") == "ready":
            self._log = str(message.get("log") or "")
            if self.waits:
                return b""
        elif banner is None:
            return b""
        if not self.has_pane:
            from pmem.terminal.notify import notification

            return notification(str(banner["text"]), self.env, self.notify) if banner else b""
        if self._opened is None and self._log:
            self._opened = open_pane([*self.follow, self._log], self.env, rows_for(banner))
        return b""


def fit_pane(text: str, env: Mapping[str, str]) -> bool:
    """Give the pane of this process, if it is one of ours, the rows that `text` needs."""
    import subprocess

    pane = env.get("TMUX_PANE", "")
    if not env.get(OURS) or not pane:
        return False
    asked = ["tmux", "display-message", "-p", "-t", pane, "#{window_height}"]
    told = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    rows = max(LEAST, min(text.count("\n") + 1, MOST, int(told) // SHARE if told else MOST))
    subprocess.run(["tmux", "resize-pane", "-t", pane, "-y", str(rows)], capture_output=True)
    return True


def rows_for(banner: Mapping[str, Any] | None) -> int:
    """The rows of a pane: as many as the banner needs, and never much of the program's own."""
    from pmem.terminal.banner import render_banner

    columns, rows = shutil.get_terminal_size()
    needed = render_banner(banner, columns, colour=False).count("\n") if banner else 0
    return max(LEAST, min(needed, MOST, rows // SHARE))


def in_tmux(env: Mapping[str, str]) -> bool:
    """Whether this terminal is a pane of a tmux that can be asked for another."""
    here = env.get("TMUX") and env.get("TMUX_PANE")
    return bool(here) and shutil.which("tmux", path=env.get("PATH")) is not None


def open_pane(words: Sequence[str], env: Mapping[str, str], rows: int) -> subprocess.Popen[bytes]:
    """Open a pane of so many rows below this one, which keeps the keys, and run `words` in it.

    Nobody waits for it, and what goes wrong in tmux stays there: `pmem log -f` tells the same.
    """
    import shlex
    import subprocess

    kept = [f"{name}={env[name]}" for name in KEPT if env.get(name)]
    place = env["TMUX_PANE"]
    split = ["tmux", "split-window", "-d", "-v", "-l", str(rows), "-t", place]
    line = shlex.join([*split, "-P", "-F", "#{pane_id}", "env", *kept, f"{OURS}=1", *words])
    # The pane goes with its program, whatever the user's tmux does with dead ones.
    keep = 'tmux set-option -p -t "$pane" remain-on-exit off'
    return subprocess.Popen(
        ["/bin/sh", "-c", f"pane=$({line}) && {keep}"],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=os.sep,
    )
