"""Which calls earlier sessions recorded, so that a resumed conversation is not counted twice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pmem.store.session_log import STEPS

#: Sessions looked at, the newest ones, and bytes of each, its last ones.
SESSIONS = 20
BYTES = 8 << 20
_CALL = re.compile(rb'"call_id": "([^"\\]{1,200})"')
_SESSION = re.compile(r"\d{8}-\d{6}-.+")


def recorded_calls(state: Path, calls: Sequence[str], *, but: str = "") -> frozenset[str]:
    """Those of the calls (by their ids) that stand in a session's log; `but` names one left out."""
    wanted = set(calls)
    found: set[str] = set()
    try:
        names = sorted(
            (p.name for p in state.iterdir() if _SESSION.fullmatch(p.name)), reverse=True
        )
    except OSError:
        return frozenset()
    for name in [n for n in names if n != but][:SESSIONS]:
        if not wanted - found:
            break
        try:
            with (state / name / STEPS).open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - BYTES))
                told = {call.decode("utf-8", "replace") for call in _CALL.findall(file.read())}
        except OSError:
            continue
        found |= wanted & told
    return frozenset(found)
