"""The gate's file: JSON that a person can read, checked before it is used.

{"schema": 1, "speak": {"model": WEIGHTS}, "ask": WEIGHTS, "learned": {…}} with WEIGHTS
{"threshold": 0.3, "intercept": -1.2, "weights": {"failures": 0.9}}; "learned" is for its reader.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pmem.core import json_text
from pmem.core.gate import Gate, Weights
from pmem.store.files import write_file

SCHEMA = 1
#: A larger file (bytes) is none of ours.
MAX_SIZE = 1 << 20


def load_gate(path: Path) -> Gate:
    """Read a gate. Raises ValueError with a sentence that names the file."""
    try:
        with path.open("rb") as file:
            table: Any = json_text.loads(file.read(MAX_SIZE))
    except OSError as error:
        raise ValueError(f"cannot read the gate {path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"the gate {path} is not JSON: {error}") from None
    try:
        if table["schema"] != SCHEMA:
            raise ValueError(f"its schema is {table['schema']!r}, not {SCHEMA}")
        ask = table.get("ask")
        return Gate(
            {str(who): _weights(given) for who, given in table.get("speak", {}).items()},
            _weights(ask) if ask is not None else None,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        why = error if isinstance(error, ValueError) else "it has not the form of one"
        raise ValueError(f"the gate {path} cannot be used: {why}") from None


def save_gate(path: Path, gate: Gate, learned: Mapping[str, Any]) -> None:
    """Write a gate, replacing the file in one go. Raises OSError."""
    table = {
        "schema": SCHEMA,
        "speak": {who: _table(weights) for who, weights in gate.speak.items()},
        "ask": _table(gate.ask) if gate.ask is not None else None,
        "learned": dict(learned),
    }
    write_file(path, (json.dumps(table, indent=2, ensure_ascii=False) + "\n").encode())


def _table(weights: Weights) -> dict[str, Any]:
    ordered = sorted(weights.weights.items(), key=lambda item: -abs(item[1]))
    return {
        "threshold": weights.threshold,
        "intercept": weights.intercept,
        "weights": dict(ordered),
    }


def _weights(table: Mapping[str, Any]) -> Weights:
    return Weights(
        _number(table["threshold"]),
        _number(table["intercept"]),
        {str(name): _number(value) for name, value in table["weights"].items()},
    )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)
