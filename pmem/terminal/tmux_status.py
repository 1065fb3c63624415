"""In tmux a reminder also stands in `@pmem`, a user option of the pane, for a status line that
shows it; and as a message, where a full-screen program has the screen.

Nothing else of tmux is touched, and the option goes with pmem, however pmem ends: a small shell
holds the other end of a pipe and takes it away when that closes.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

#: The user option: `set -ag status-right ' #{@pmem}'` shows it.
OPTION = "@pmem"
#: What it says at most, in words and in characters.
MAX_WORDS, MAX_CHARS = 20, 100
#: How long a message stands, in milliseconds.
SHOWN_FOR = 5000
#: How long the end waits until the option is taken away, in seconds.
PATIENCE = 1.0

#: Reads lines: the first character says whether it is also a message. The message is the option's
#: value, since tmux would run what a text of its own has in `#(…)`.
_SCRIPT = f"""
while IFS= read -r line; do
    tmux set-option -p -t "$TMUX_PANE" {OPTION} "${{line#?}}"
    case $line in
        !*) tmux display-message -d {SHOWN_FOR} -t "$TMUX_PANE" '#{{{OPTION}}}' ||
            tmux display-message -t "$TMUX_PANE" '#{{{OPTION}}}' ;;
    esac
done
tmux set-option -p -u -t "$TMUX_PANE" {OPTION}
"""
_FORMATS = re.compile(r"#+(?=[\[({])")


class TmuxStatus:
    """Tells reminders to the tmux around this terminal; `works` says whether there is one."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._count = 0
        self._shell: subprocess.Popen[bytes] | None = None
        self.works = bool(env.get("TMUX") and env.get("TMUX_PANE"))

    def tell(self, banner: Mapping[str, Any], unseen: bool = False) -> None:
        """Count a reminder and show its text; one that a screen hides as a message too."""
        if not self.works:
            return
        self._count += 1
        line = f"{'!' if unseen else '='}{status_text(banner, self._count)}\n"
        try:
            if self._shell is None:
                self._shell = self._start()
            assert self._shell.stdin is not None
            os.write(self._shell.stdin.fileno(), line.encode("utf-8", "replace"))
        except OSError:  # no tmux to be found, or it does not read: the banner itself is not lost
            self.works = False

    def close(self) -> None:
        """Take the option away."""
        shell, self._shell = self._shell, None
        if shell is not None and shell.stdin is not None:
            with contextlib.suppress(OSError):
                shell.stdin.close()
            from subprocess import TimeoutExpired

            with contextlib.suppress(TimeoutExpired):
                shell.wait(PATIENCE)

    def _start(self) -> subprocess.Popen[bytes]:
        if shutil.which("tmux", path=self._env.get("PATH")) is None:
            raise FileNotFoundError("tmux")
        import subprocess

        shell = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT],
            env=dict(self._env),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a closed window must not end it before its work is done
            bufsize=0,
            cwd=os.sep,
        )
        assert shell.stdin is not None
        os.set_blocking(shell.stdin.fileno(), False)
        return shell


def status_text(banner: Mapping[str, Any], count: int) -> str:
    """`pmem 2: npm test failed twice alike …`, without anything tmux would act on."""
    from pmem.core.text import clean, shorten

    text = " ".join(clean(str(banner.get("text") or "")).split())
    return f"pmem {count}: {_FORMATS.sub('', shorten(text, MAX_WORDS, MAX_CHARS))}"
