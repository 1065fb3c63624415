"""JSON of other programs: numbers one can reckon with, and ValueError for all that is none."""

from __future__ import annotations

import pytest

from pmem.core.json_text import loads, table, tables


def test_values_are_read_as_they_are() -> None:
    assert loads('{"a": [1, -2.5, null, true, "x"]}') == {"a": [1, -2.5, None, True, "x"]}
    assert loads(b'"\xc3\xa9"') == "é"


@pytest.mark.parametrize("digits", ["9" * 30, "-" + "9" * 5000, "NaN", "-Infinity", "1e400"])
def test_a_number_out_of_range_is_its_text(digits: str) -> None:
    assert loads(f"[{digits}]") == [digits]


@pytest.mark.parametrize("text", ["", "{", "[1,]", "[" * 100_000, '{"a":' * 50_000, b"\xff\xfe"])
def test_what_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        loads(text)


def test_of_anything_the_objects_are_taken() -> None:
    assert (table({"a": 1}), table([1]), table(None)) == ({"a": 1}, {}, {})
    assert (tables([{}, 1, {"a": 1}]), tables({}), tables("x")) == ([{}, {"a": 1}], [], [])
