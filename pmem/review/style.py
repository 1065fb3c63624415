"""The colours of review: the terminal's own sixteen, so that they suit dark and light alike.

Without colour what is said by colour is said by a sign as well; bold, dim and reverse remain.
"""

from __future__ import annotations

STYLE = {
    "title": "bold",
    "dim": "dim",
    "key": "bold",
    "chosen": "reverse",
    "chosen-away": "underline",
    "ok": "ansigreen",
    "bad": "ansired",
    "bad-strong": "bold ansired",
    "note": "ansicyan",
    "head": "bold ansicyan",
    "spoke": "bold ansiyellow",
    "held": "bold ansimagenta",
    "back": "ansicyan",
    "stale": "ansired",
    "watch": "ansimagenta",
    "rule": "dim",
    "bar": "reverse",
    "message": "bold ansigreen",
    "trouble": "bold ansired",
    "word": "bold",
}
