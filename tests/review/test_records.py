"""A log of any length is opened at the cost of a screen, and every step of it is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from made import long_session

from pmem.review.recorded import Hunt, Mark, Recorded, opened
from pmem.review.records import BLOCK, Records

LINES = st.lists(
    st.one_of(
        st.integers(0, 3).map(lambda gap: ("step", gap)),
        st.sampled_from([("torn", '{"step": 3, "ki'), ("torn", ""), ("torn", '{"task": "x"}')]),
    ),
    max_size=40,
)


@examples(60)
@given(lines=LINES, wanted=st.integers(0, 130), long=st.integers(0, 3), end=st.booleans())
def test_a_record_is_found_by_its_number(tmp_path_factory, lines, wanted, long, end) -> None:
    """As a reading of the whole file finds it, whatever stands between."""
    path: Path = tmp_path_factory.mktemp("log") / "steps.jsonl"
    number, numbers, text = 0, [], []
    for kind, what in lines:
        if kind == "step":
            number += what + 1
            numbers.append(number)
            text.append(
                json.dumps({"step": number, "fill": "x" * (BLOCK // 2 * (long * number % 3))})
            )
        else:
            text.append(what)
    path.write_text("\n".join(text) + ("\n" if end and text else ""))
    whole = (
        numbers
        if end
        else numbers[
            : len(numbers)
            - bool(text and text[-1][:7] == '{"step"' and numbers and text[-1].endswith("}"))
        ]
    )
    records = Records(path, "step")
    assert records.first() == (whole[0] if whole else None)
    assert records.last() == (whole[-1] if whole else None)
    assert [r["step"] for r in records.between(wanted, wanted + 20)] == [
        n for n in whole if wanted <= n <= wanted + 20
    ]
    assert [r["step"] for _, r in records.backward(records.find(wanted))] == [
        n for n in reversed(whole) if n < wanted
    ]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """One session of 500 steps, and one of 50,000."""
    state = tmp_path_factory.mktemp("state")
    return {n: long_session(state, n, f"20261130-1142{n % 60:02}-s{n}") for n in (500, 50_000)}


def cost(path: Path) -> tuple[int, int]:
    """Bytes and records read until the first screen stands: a page, its marks, a reminder."""
    recorded = opened(path)
    for number, step in recorded.page(recorded.last - 40, recorded.last):
        assert step is not None
        recorded.mark(number)
    assert recorded.next_spoken(recorded.last, back=True) is not None
    both = (recorded.steps, recorded.decisions)
    return sum(r.bytes_read for r in both), sum(r.records_read for r in both)


def test_opening_a_hundred_times_the_steps_costs_at_most_thrice(sessions: dict[int, Path]) -> None:
    small, large = cost(sessions[500]), cost(sessions[50_000])
    assert large[0] <= 3 * small[0]
    assert large[1] <= 3 * small[1]


@pytest.mark.parametrize("number", [1, 2, 17, 4999, 25_000, 49_999, 50_000])
def test_any_step_of_a_long_session_is_read(sessions: dict[int, Path], number: int) -> None:
    recorded = opened(sessions[50_000])
    step = recorded.step(number)
    assert step is not None
    assert step["action"] == f"make part-{number}"


def test_from_reminder_to_reminder(sessions: dict[int, Path]) -> None:
    recorded = opened(sessions[50_000])
    assert recorded.next_spoken(20_001) == 20_050
    assert recorded.next_spoken(20_050) == 20_100
    assert recorded.next_spoken(20_050, back=True) == 20_000
    assert recorded.next_spoken(49, back=True) is None
    assert recorded.mark(20_050) is Mark.SPOKE
    assert recorded.mark(20_055) is Mark.SILENT
    assert recorded.mark(20_056) is Mark.NOTHING


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("spoke", "", [50, 100, 150]),
        ("failed", "", [3, 6, 9]),
        ("", "PART-77", [77, 770, 771]),
        ("", "no such words", []),
    ],
)
def test_a_filter_looks_through_piece_by_piece(sessions, kind, text, found) -> None:
    hunt = Hunt(opened(sessions[50_000]), kind, text)
    assert hunt.share == 0.0
    while hunt.go_on(1 << 18):
        pass
    assert hunt.numbers[:3] == found
    assert hunt.share == 1.0


def test_what_is_appended_appears(tmp_path: Path) -> None:
    place = long_session(tmp_path, 20)
    recorded = opened(place)
    assert not recorded.refresh()
    with (place / "steps.jsonl").open("a") as file:
        file.write('{"step": 21, "kind": "command", "action": "new", "observation": ""}\n')
        file.write('{"step": 22, "kind": "comm')
    assert recorded.refresh()
    assert recorded.last == 21
    assert recorded.step(21)["action"] == "new"


def test_an_empty_session_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "20261130-114207-x").mkdir()
    recorded = Recorded(opened(tmp_path / "20261130-114207-x").info)
    assert (recorded.count, recorded.step(1), recorded.decided(1)) == (0, None, [])
    assert recorded.next_spoken(0) is None
