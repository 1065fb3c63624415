"""Style: how a model plays the memory agent; the paper's own form and its ablations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """Which phases run, and what they see.

    `manages`: phase 1 keeps a bank. `decides`: phase 2 asks the model; without it the whole bank
    is the note. `may_be_silent`: phase 2 may say nothing. `guarded`: the guard looks at what is
    said in full. `pure`: two calls with a system prompt each, no watches, results not fed back.
    """

    name: str
    manages: bool = True
    decides: bool = True
    may_be_silent: bool = True
    guarded: bool = True
    pure: bool = False


#: The arms that need a model.
STYLES = {
    style.name: style
    for style in (
        Style("selective"),
        Style("bank", decides=False, guarded=False),
        Style("always", may_be_silent=False, guarded=False),
        Style("advisor", manages=False, guarded=False),
    )
}

#: The paper's memory agent as it is.
PURE = Style("selective", guarded=False, pure=True)
#: Its sampling temperature.
PURE_TEMPERATURE = 0.3
