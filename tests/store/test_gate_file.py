"""The gate's file: written and read again, refused with a word if it is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmem.core.gate import Gate, Weights
from pmem.store.gate_file import load_gate, save_gate

number = st.floats(-1e6, 1e6)
weights = st.builds(Weights, number, number, st.dictionaries(st.text(max_size=8), number))
gates = st.builds(
    Gate,
    st.dictionaries(st.sampled_from(["model", "rules"]), weights),
    st.none() | weights,
)


@given(gates)
def test_a_gate_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, gate: Gate
) -> None:
    path = tmp_path_factory.mktemp("gate") / "gate.json"
    save_gate(path, gate, {"runs": 3})
    assert load_gate(path) == gate
    assert json.loads(path.read_text())["learned"] == {"runs": 3}
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "is not JSON"),
        ("\x00\xff", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "has not the form"),
        ("null", "has not the form"),
        ('{"schema": 2}', "its schema is 2, not 1"),
        ('{"schema": 1, "speak": []}', "has not the form"),
        ('{"schema": 1, "ask": {"threshold": 1}}', "has not the form"),
        ('{"schema": 1, "ask": {"threshold": NaN, "intercept": 0, "weights": {}}}', "no number"),
        ('{"schema": 1, "ask": {"threshold": 1, "intercept": true, "weights": {}}}', "no number"),
        ('{"schema": 1, "ask": {"threshold": 1, "intercept": 0, "weights": {"a": "b"}}}', "is no"),
    ],
)  # fmt: skip
def test_what_is_no_gate_is_told_with_the_files_name(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "gate.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=word) as error:
        load_gate(path)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot read the gate .*gate.json: No such file"):
        load_gate(tmp_path / "gate.json")
