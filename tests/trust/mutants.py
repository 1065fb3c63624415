"""What programs really say, with some of its parts exchanged, left out or torn.

Anything at random rarely gets past a reader's first question. `samples.jsonl` holds one of each
form that the agents and model services use, as their hooks, files and replies were seen.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

#: Values at the edges of what JSON and its readers can hold.
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 10**400, -(10**400), 2**63, 0.5, 1e300),
    *(float("nan"), float("inf"), "", " ", "\x00", "\ud800", "\u202e", "9" * 5000, "x" * 30_000),
    *([], {}, [[]], [None], [{}], {"": None}, {"text": 1}, {"type": []}, [1, "a", None, {}]),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00", "file://[", "file:///%00", "{"),
    *("Exit code 999", "Exit code " + "9" * 5000, "<returncode>" + "9" * 5000 + "</returncode>"),
    *('{"a": ' * 3000, '{"output": 1, "metadata": "x", "exit_code": 1}', "/dev/null", "/\x00"),
]  # fmt: skip


def samples() -> dict[str, list[list[Any]]]:
    """By kind, what was seen; each a list of lines, those that are objects as such."""
    found: dict[str, list[list[Any]]] = {}
    for line in Path(__file__).with_name("samples.jsonl").read_text("utf-8").splitlines():
        sample = json.loads(line)
        found.setdefault(sample["of"], []).append(sample["lines"])
    return found


@st.composite
def mutants(draw: st.DrawFn, seen: list[Any]) -> bytes:
    """One of the things seen, changed in up to three places, as bytes."""
    line = copy.deepcopy(draw(st.sampled_from(seen)))
    if not isinstance(line, str):
        for _ in range(draw(st.integers(0, 3))):
            _change(draw, line, seen)
        line = json.dumps(line)
    data = line.encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=4)) + data[at + draw(st.integers(0, 9)) :]
    return data


def _change(draw: st.DrawFn, line: Any, seen: list[Any]) -> None:
    places = list(_places(line))
    if not places:
        return
    holder, key = draw(st.sampled_from(places))
    how = draw(st.integers(0, 7))
    if how == 0:
        del holder[key]
    elif how == 1:  # a part of the same, or of another thing seen, at the wrong place
        other, at = draw(st.sampled_from([*places, *_places(_any_of(draw, seen))]))
        holder[key] = copy.deepcopy(other[at])
    elif how == 2:
        holder[key] = [holder[key]]
    elif how == 3:
        holder[key] = json.dumps(holder[key])
    else:
        holder[key] = copy.deepcopy(draw(st.sampled_from(ODD)))


def _any_of(draw: st.DrawFn, seen: list[Any]) -> Any:
    other = draw(st.sampled_from(seen))
    return {} if isinstance(other, str) else other


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each member of each object and list in it, as its holder and its key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)
