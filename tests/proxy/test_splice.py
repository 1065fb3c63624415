"""Words put into JSON: what stands around them keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmem.proxy.splice import behind, elements, inserted, last_in, longer, members

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=5)
SHAPES: list[dict[str, Any]] = [{}, {"indent": 2}, {"separators": (",", ":")}]


@given(OBJECTS, st.sampled_from(SHAPES), st.booleans())
def test_members_are_those_that_a_json_parser_finds(
    value: dict[str, Any], shape: dict[str, Any], ascii: bool
) -> None:
    text = json.dumps(value, ensure_ascii=ascii, **shape)
    found = members(text)
    assert {name: place.value for name, place in found.items()} == value
    assert all(json.loads(text[p.start : p.end]) == p.value for p in found.values())


@given(st.lists(VALUES, min_size=1, max_size=4), VALUES, st.sampled_from(SHAPES), st.data())
def test_an_element_more_changes_nothing_else(
    items: list[Any], more: Any, shape: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps({"a": 1, "items": items}, **shape)
    places = members(text, array="items")["items"].value
    n = data.draw(st.integers(0, len(items) - 1))
    put = behind(places[n], more)
    longer_text = inserted(text, [put])
    assert json.loads(longer_text)["items"] == [*items[: n + 1], more, *items[n + 1 :]]
    assert longer_text[: put[0]] == text[: put[0]]
    assert longer_text[put[0] + len(put[1]) :] == text[put[0] :]


@given(st.lists(VALUES, max_size=3), VALUES, st.sampled_from(SHAPES))
def test_an_element_at_the_end_of_an_array_empty_or_not(
    items: list[Any], more: Any, shape: dict[str, Any]
) -> None:
    text = json.dumps({"items": items}, **shape)
    place = members(text)["items"]
    assert json.loads(inserted(text, [last_in(text, place, more)]))["items"] == [*items, more]


@given(st.text(), st.text())
def test_words_at_the_end_of_a_string(before: str, words: str) -> None:
    text = json.dumps({"content": before, "b": 1})
    place = members(text)["content"]
    assert json.loads(inserted(text, [longer(place, words)]))["content"] == before + words


@pytest.mark.parametrize(
    "broken",
    ["", "[]", "null", "{", '{"a"', '{"a":', '{"a":1', '{"a":1,}', '{"a" 1}', "{a:1}",
     '{"a":1 "b":2}', '{"a":1,"a":2}', '{"a":[1,]}', '{"a":tru}'],
)  # fmt: skip
def test_what_is_no_object_is_refused(broken: str) -> None:
    with pytest.raises(ValueError):
        members(broken, array="a")


def test_elements_end_where_their_array_ends() -> None:
    assert elements("[ 1 , [2] ]  ", 0)[1] == len("[ 1 , [2] ]")
