"""Text is measured and wrapped by the cells it takes on the screen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pmem.terminal.cells import clusters, fit, width, wrap

printable = st.text(st.characters(exclude_categories=["C"]), max_size=120)


def test_width_counts_cells() -> None:
    assert width("abc") == 3
    assert width("한글") == 4
    assert width("日本語、") == 8
    assert width("e\u0301") == 1
    assert width("👩‍👩‍👧") == 2


def test_words_are_kept_whole_in_korean_and_english() -> None:
    assert wrap("npm test failed twice alike", 10) == ["npm test", "failed", "twice", "alike"]
    assert wrap("강제 푸시는 절대 금지", 12) == ["강제 푸시는", "절대 금지"]


def test_japanese_and_chinese_break_anywhere_but_not_before_closing_marks() -> None:
    assert wrap("変わっていません。次", 16) == ["変わっていませ", "ん。次"]
    assert wrap("「同じ」理由（手順）", 8) == ["「同じ」", "理由（手", "順）"]
    assert wrap("错误相同，没有改变。", 8) == ["错误相", "同，没有", "改变。"]


def test_a_word_longer_than_the_line_is_cut() -> None:
    assert wrap("see /a/very/long/path now", 8) == ["see", "/a/very/", "long/pat", "h now"]


def test_line_breaks_stay_and_blank_text_is_one_line() -> None:
    assert wrap("one\ntwo", 20) == ["one", "two"]
    assert wrap("", 20) == [""]


def test_code_keeps_its_blanks_where_no_line_is_broken() -> None:
    code = "if x:\n    y  = 1\n\tz()"
    assert "\n".join(wrap(code, 40)) == code
    assert wrap("      a long   line of it", 12) == ["      a long", "line of it"]
    assert wrap(" " * 30 + "word", 8) == ["word"]


@given(printable, st.integers(2, 40))
def test_no_line_is_wider_than_asked_and_no_character_is_lost(text: str, cells: int) -> None:
    lines = wrap(text, cells)
    for line in lines:
        assert width(line) <= cells or len(list(clusters(line))) == 1
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(printable, st.integers(1, 40))
def test_fitting_keeps_to_the_cells(text: str, cells: int) -> None:
    fitted = fit(text, cells)
    assert width(fitted) <= cells
    assert fitted == text or fitted.endswith("…")
