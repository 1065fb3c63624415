"""What a session's model took, from its decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def of_model(decisions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What the model's calls of a session took, {} if none was made.

    `failed` is how many of the `calls` had no answer, `cached` the share of input tokens read from
    a cache, `silence` of its memory steps in which it said nothing, `ms` the mean of a memory
    step, `money` in US dollars.
    """
    asked = [d for d in decisions if isinstance(d.get("model"), dict)]
    if not asked:
        return {}
    costs = [d["model"] for d in asked]

    def total(key: str) -> float:
        return float(sum(c[key] for c in costs if isinstance(c.get(key), int | float)))

    read = total("cache_read")
    sent = total("input") + read + total("cache_write")
    return {
        "name": costs[-1].get("name", ""),
        "calls": sum(len(c.get("calls") or ()) for c in costs),
        "failed": sum(len(c.get("errors") or ()) for c in costs),
        "tokens": round(sent + total("output")),
        "cached": round(read / sent, 3) if sent else 0.0,
        "money": round(total("money"), 4),
        "ms": round(total("ms") / len(asked)),
        "silence": round(sum(d.get("decision") != "remind" for d in asked) / len(asked), 3),
    }
