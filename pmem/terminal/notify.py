"""A notification of the desktop, by a sequence that the terminal acts on and never shows.

OSC 9 (iTerm2, ConEmu) and OSC 777 (rxvt's `notify`) are sent only where the terminal says who it
is and is known to take one of them, or where the setting `notify` names one. A terminal that does
not know the sequence drops it; nothing moves on the screen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: Terminals known to take one, by the name in TERM_PROGRAM or LC_TERMINAL, and by TERM.
PROGRAMS = {
    "iTerm.app": "9",
    "iTerm2": "9",
    "WezTerm": "777",
    "ghostty": "777",
    "WarpTerminal": "777",
}
TERMS = {"xterm-kitty": "777", "xterm-ghostty": "777", "foot": "777", "wezterm": "777"}
#: What a notification says at most, in words and in characters.
MAX_WORDS, MAX_CHARS = 40, 200
TITLE = "pmem"
#: Behind such a sequence nothing that the program began is open, whatever came before. The byte
#: before it must be seen: an ESC there (the end of an earlier chunk, too) quotes it for tmux.
_SETTLED = re.compile(rb"(?<=[^\x1b])\x1b\[[0-?]*[ -/]*[@-~]")
#: A multiplexer stands between: who is behind it is not told.
BETWEEN = ("tmux", "screen")


def way(env: Mapping[str, str], setting: str = "auto") -> str:
    """How this terminal is told: "9", "777", or "" for one that is not known to take either."""
    if setting != "auto":
        return setting if setting in ("9", "777") else ""
    term = env.get("TERM", "")
    if env.get("TMUX") or env.get("STY") or term.startswith(BETWEEN):
        return ""
    for variable in ("TERM_PROGRAM", "LC_TERMINAL"):
        if env.get(variable) in PROGRAMS:
            return PROGRAMS[env[variable]]
    if env.get("WT_SESSION"):
        return "9"
    return next((by for name, by in TERMS.items() if term in (name, f"{name}-direct")), "")


def notification(text: str, env: Mapping[str, str], setting: str = "auto") -> bytes:
    """The sequence that shows `text` as one notification, b"" where there is no way.

    In tmux it is wrapped, which tmux passes on where `allow-passthrough` is on.
    """
    by = way(env, setting)
    if not by:
        return b""
    from pmem.core.text import clean, shorten

    body = shorten(" ".join(clean(text).replace(";", ",").split()), MAX_WORDS, MAX_CHARS)
    # Behind OSC 9 a leading number would be another command of ConEmu's.
    said = f"9;{TITLE}: {body}" if by == "9" else f"777;notify;{TITLE};{body}"
    sequence = f"\x1b]{said}\x07"
    if env.get("TMUX"):
        sequence = "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return sequence.encode("utf-8", "replace")


def put_in(notice: bytes, output: bytes) -> bytes | None:
    """A program's output with the notice in it, None where no place for it is safe.

    A chunk may begin and end anywhere in a sequence or a character; right behind a whole control
    sequence neither is cut.
    """
    found = _SETTLED.search(output)
    if found is None:
        return None
    return output[: found.end()] + notice + output[found.end() :]
