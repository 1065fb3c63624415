"""The short way through a table of pmem's own gives what the whole parser gives, or nothing."""

from __future__ import annotations

import tomllib

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from pmem.store import toml_plain, toml_text

VALUES = (
    st.text(max_size=30)
    | st.text(alphabet='ab"\\\n\t é', max_size=30)
    | st.integers(-(2**62), 2**62)
    | st.lists(st.integers(0, 99), max_size=4)
    | st.lists(st.text(max_size=6), max_size=4)
    | st.booleans()
    | st.dictionaries(st.sampled_from(["command", "x y"]), st.text(max_size=5), max_size=2)
)
TABLES = st.dictionaries(st.sampled_from(["id", "content", "output", "n", "Ab_-9", "é"]), VALUES)


@examples(300)
@given(st.sampled_from(["knowledge", "procedural"]), TABLES, st.integers(0, 2))
def test_what_is_written_is_read_the_same(section: str, pairs: dict[str, object], gap: int) -> None:
    text = toml_text.table(f"[[{section}]]", pairs) + "\n" * gap
    assert toml_plain.table(text) in (tomllib.loads(text), None)


@examples(400)
@given(
    st.lists(
        st.sampled_from(
            [*'"= \n[],\\#x1é0-.', '"""', '"""\n', "id", " = ", '"a"', "[1, 2]", "[[knowledge]]\n"]
        ),
        max_size=14,
    ).map("".join)
)  # fmt: skip
def test_whatever_stands_there_it_is_never_read_otherwise(rest: str) -> None:
    text = f"[[knowledge]]\n{rest}"
    found = toml_plain.table(text)
    if found is not None:
        assert tomllib.loads(text) == found


def test_plain_entries_go_the_short_way() -> None:
    pairs = {
        "id": "npm-test",
        "content": "npm test: failed at step 2 (“no 'db'”).",
        "tags": ["a", "b"],
        "exit_code": -1,
        "failed_steps": [1, 22],
        "passed_steps": [],
        "output": 'line "1"\nline 2\n',
    }
    text = toml_text.table("[[procedural]]", pairs)
    assert toml_plain.table(text + "\n") == tomllib.loads(text) == {"procedural": [pairs]}


@pytest.mark.parametrize(
    "line",
    ['id = "a"\nid = "b"\n', "n = 01\n", "n = 1.0\n", 'a.b = "x"\n', "# remark\n", 'x = "\\t"\n',
     'x = """\na""""\n', 'id = "a" # x\n', "when = { command = 1 }\n", "[x]\n", 'id = "a"']
)  # fmt: skip
def test_what_is_not_plain_is_left_to_the_parser(line: str) -> None:
    assert toml_plain.table(f"[[knowledge]]\n{line}") is None
