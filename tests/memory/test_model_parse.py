"""What a model's text says: half a call is no call, half a reminder is silence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmem.memory.model.parse import find_intervention, parse_intervention, parse_tool_calls

JSON_CALL = '<tool_call>{"name": "memory_delete", "arguments": {"id": "db"}}</tool_call>'
CONTEXT, END = "<context_for_action>", "</context_for_action>"
XML_CALL = """<tool_call>
<function=memory_save_knowledge>
<parameter=id>
port
</parameter>
<parameter=content>
The server listens on 8080.
</parameter>
<parameter=tags>["fact", "web"]</parameter>
</function>
</tool_call>"""


def test_both_text_forms_are_read_in_their_order() -> None:
    calls = parse_tool_calls(f"I will write.\n{XML_CALL}\nand\n{JSON_CALL}")
    assert [c.name for c in calls] == ["memory_save_knowledge", "memory_delete"]
    assert calls[0].arguments == {
        "id": "port",
        "content": "The server listens on 8080.",
        "tags": ["fact", "web"],
    }
    assert calls[1].arguments == {"id": "db"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would save that the build fails.",
        '<tool_call>{"name": "memory_delete", "arg',
        '<tool_call>{"name": "memory_delete", "arguments": {"id": "db"}}',
        '<tool_call>["memory_delete"]</tool_call>',
        '<tool_call>{"name": 3}</tool_call>',
        "<function=memory_delete><parameter=id>db</parameter>",
        f"<think>{JSON_CALL}</think>",
        f"<think>{JSON_CALL}",
    ],
)
def test_what_is_no_whole_call_is_none(text: str) -> None:
    assert parse_tool_calls(text) == []


def test_arguments_may_be_json_in_a_string() -> None:
    text = '<tool_call>{"name": "memory_delete", "arguments": "{\\"id\\": \\"db\\"}"}</tool_call>'
    assert parse_tool_calls(text)[0].arguments == {"id": "db"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<context_for_action>It failed at 3.</context_for_action>", "It failed at 3."),
        ("So:\n<context_for_action entries='a, b'>\nIt fell\n</context_for_action>", "It fell"),
        ("<think>hm <no_intervention/></think><context_for_action>x y</context_for_action>", "x y"),
        ("reasoning</think><context_for_action>x y</context_for_action>", "x y"),
        (f"{CONTEXT}a a{END}{CONTEXT}b b{END}", "b b"),
        ("<no_intervention/>", None),
        ("<no_intervention>", None),
        ("<context_for_action>x y</context_for_action>\nNo: <no_intervention/>", None),
        ("<context_for_action>None.</context_for_action>", None),
        ("<context_for_action></context_for_action>", None),
        ("<context_for_action>It failed at", None),
        ("<think><context_for_action>x y</context_for_action></think>", None),
        ("You should run the tests.", None),
        ("", None),
    ],
)  # fmt: skip
def test_a_reminder_or_silence(text: str, said: str | None) -> None:
    assert parse_intervention(text) == said


def test_entries_and_a_watch_stand_in_its_tag() -> None:
    found = find_intervention(
        '<context_for_action entries="[a], `b-2`" when=\'{"command": "git push*"}\'>'
        "x y</context_for_action>"
    )
    assert found is not None
    assert found.entries == ("a", "b-2")
    assert found.when == {"command": "git push*"}


@given(st.text(alphabet="<>/=_'\" {}abctoolcnx\n", max_size=300))
def test_nothing_makes_the_parser_fail(text: str) -> None:
    parse_tool_calls(text)
    find_intervention(text)


def test_a_very_long_answer_is_read_in_a_moment() -> None:
    assert parse_intervention("<context_for_action " + "a=" * 100_000) is None
    assert parse_tool_calls("<tool_call>" * 20_000) == []
