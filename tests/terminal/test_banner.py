"""The banner is drawn within the terminal's width, in every script, with and without colour."""

from __future__ import annotations

import re
from typing import Any

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmem.terminal.banner import encode_banner, render_banner, wants_colour
from pmem.terminal.cells import width

REMINDER = {
    "text": "npm test failed twice alike (steps 2, 4): Cannot find module './db'.",
    "held": False,
    "citations": [
        {"id": "npm-test", "content": "npm test: failed at steps 2, 4.", "steps": [2, 4]},
        {"id": "npm-run-build", "content": "npm run build: passed at step 5.", "steps": [5]},
    ],
}
KOREAN = {
    "text": "AGENTS.md 3행: “강제 푸시는 절대 하지 마세요.” 지금 명령이 이 규칙에 걸립니다.",
    "held": True,
    "citations": [{"id": "강제-푸시-금지", "content": "AGENTS.md:3", "steps": []}],
}
JAPANESE = {
    "text": "「npm test」は手順2と4で同じ理由で失敗しました。その後、何も変わっていません。",
    "citations": [{"id": "npm-test", "content": "", "steps": [2, 4]}],
}


def plain(text: str) -> list[str]:
    return re.sub(r"\x1b\[[0-9;]*m", "", text).split("\r\n")[:-1]


def test_at_80_columns_it_looks_like_this() -> None:
    assert plain(render_banner(REMINDER, 80, True)) == [
        "╭─ [MEMORY REMINDER] ──────────────────────────────────────────────────╮",
        "│ npm test failed twice alike (steps 2, 4): Cannot find module './db'. │",
        "│ npm-test · steps 2, 4 · npm test: failed at steps 2, 4.              │",
        "│ npm-run-build · step 5 · npm run build: passed at step 5.            │",
        "╰─ pmem bank show npm-test ────────────────────────────────────────────╯",
    ]


def test_at_20_columns_it_looks_like_this() -> None:
    assert plain(render_banner({**REMINDER, "citations": []}, 20, False)) == [
        "╭[MEMORY REMINDER]╮",
        "│ npm test failed │",
        "│ twice alike     │",
        "│ (steps 2, 4):   │",
        "│ Cannot find     │",
        "│ module './db'.  │",
        "│ pmem log        │",
        "│ --decisions     │",
        "╰─────────────────╯",
    ]


def test_a_held_command_says_what_the_keys_do() -> None:
    shown = "\n".join(plain(render_banner(KOREAN, 80, True)))
    assert "The command has not started. Enter runs it, ctrl-C drops it." in shown
    assert "강제-푸시-금지" in shown


@pytest.mark.parametrize("banner", [REMINDER, KOREAN, JAPANESE], ids=["en", "ko", "ja"])
@pytest.mark.parametrize("columns", [20, 21, 30, 40, 80, 200])
def test_every_line_of_the_box_is_equally_wide_and_leaves_the_last_column(
    banner: dict[str, Any], columns: int
) -> None:
    lines = plain(render_banner(banner, columns, True))
    widths = {width(line) for line in lines}
    assert len(widths) == 1
    assert widths.pop() < columns
    assert "[MEMORY REMINDER]" in lines[0]


@pytest.mark.parametrize("banner", [REMINDER, KOREAN, JAPANESE], ids=["en", "ko", "ja"])
@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_a_terminal_shows_the_border_straight(banner: dict[str, Any], columns: int) -> None:
    screen = pyte.Screen(columns, 50)
    pyte.Stream(screen).feed(render_banner(banner, columns, True))
    rows = [row.rstrip() for row in screen.display if row.strip()]
    right = {
        max(x for x in range(columns) if screen.buffer[y][x].data.strip()) for y in range(len(rows))
    }
    assert len(right) == 1


def test_below_20_columns_there_is_no_border() -> None:
    lines = plain(render_banner(REMINDER, 12, False))
    assert lines[0] == "[MEMORY REMINDER]"
    assert all(width(line) <= 12 for line in lines[1:])


def test_no_color_and_dumb_terminals_get_no_escape_sequence() -> None:
    assert wants_colour({"TERM": "xterm-256color"})
    assert not wants_colour({"TERM": "xterm", "NO_COLOR": "1"})
    assert not wants_colour({"TERM": "dumb"})
    assert "\x1b" not in render_banner(REMINDER, 80, False)


@pytest.mark.parametrize(
    ("env", "border"),
    [
        ({"LANG": "ko_KR.UTF-8"}, "╭"),
        ({"LC_ALL": "C.utf8"}, "╭"),
        ({"LANG": "C"}, "+"),
        ({}, "+"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C"}, "+"),
    ],
)
def test_the_border_is_ascii_where_the_locale_is_not_utf8(env: dict[str, str], border: str) -> None:
    assert encode_banner(REMINDER, 80, env).decode().startswith(border)


def test_a_korean_locale_of_old_gets_its_own_bytes() -> None:
    drawn = encode_banner(KOREAN, 80, {"LANG": "ko_KR.EUC-KR"})
    assert "절대 하지 마세요".encode("euc-kr") in drawn


def test_entries_past_three_are_only_counted() -> None:
    many = [{"id": f"entry-{n}", "content": "", "steps": [n]} for n in range(6)]
    lines = plain(render_banner({**REMINDER, "citations": many}, 80, False))
    assert any("entry-2" in line for line in lines)
    assert not any("entry-3" in line for line in lines)
    assert any("and 3 more" in line for line in lines)


def test_control_characters_of_an_entry_never_reach_the_terminal() -> None:
    wicked = {
        "text": "\x1b]0;owned\x07red \x1b[31mtext\x1b[2J\x9b1m",
        "citations": [{"id": "a\x1b[Hb", "content": "\r\n\x07x", "steps": [1]}],
    }
    shown = render_banner(wicked, 80, False)
    assert not set(shown) & {"\x1b", "\x07", "\x9b"}
    assert shown.count("\r\n") == len(plain(shown))


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=60)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {"text": st.text(max_size=300), "held": st.booleans()},
        optional={
            "citations": st.lists(
                st.fixed_dictionaries(
                    {"id": st.text(max_size=60), "content": st.text(max_size=100)},
                    optional={"steps": st.lists(st.integers(0, 9999), max_size=9)},
                ),
                max_size=5,
            )
        },
    ),
    st.integers(1, 250),
)
def test_any_banner_at_any_width_keeps_within_it(banner: dict[str, Any], columns: int) -> None:
    lines = plain(render_banner(banner, columns, True))
    if columns >= 20:
        assert all(width(line) < columns for line in lines)
    assert "[MEMORY REMINDER]" in lines[0]


def test_a_content_that_stands_in_the_text_is_not_shown_twice() -> None:
    rule = "AGENTS.md:3 says: “Never force-push.”"
    banner = {
        "text": f"{rule} What is about to run: `git push -f`.",
        "citations": [{"id": "agents.md-3", "content": rule, "steps": []}],
    }
    shown = render_banner(banner, 90, False)
    assert shown.count("Never force-push") == 1
    assert "agents.md-3" in shown
