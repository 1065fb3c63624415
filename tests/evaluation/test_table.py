"""The figures of two recorded folders, recomputed here with pencil and paper."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_results import config, recorded

from pmem.evaluation.forecast import forecast
from pmem.evaluation.paper import config_of, is_model, row_named, rows
from pmem.evaluation.plot import svg
from pmem.evaluation.proportions import mcnemar, wilson
from pmem.evaluation.results import Took, Trial, begin, load
from pmem.evaluation.table import Figures, figures
from pmem.models.prices import load_prices

NAMES = ("tau2-bench", "Terminal-Bench 2.0")


@pytest.fixture
def both(tmp_path: Path) -> list[Figures]:
    for arm in ("off", "selective"):
        recorded(tmp_path, arm)
    return figures([load(tmp_path / arm) for arm in ("off", "selective")])


def test_what_was_solved(both: list[Figures]) -> None:
    off, ours = both
    # off: 2 of 4 and 2 of 6; selective: 3 of 4 and 4 of 6.
    assert (off.whole.solved, ours.whole.solved) == (4, 7)
    assert (off.whole.passed, ours.whole.passed) == (40.0, 70.0)
    assert {n: s.passed for n, s in ours.domains.items()} == {
        "airline": 75.0,
        "retail": pytest.approx(100 * 4 / 6),
    }
    assert ours.macro == pytest.approx((75 + 100 * 4 / 6) / 2)
    assert off.macro == pytest.approx((50 + 100 / 3) / 2)


def test_the_interval_of_a_share(both: list[Figures]) -> None:
    # Wilson for 7 of 10, z = 1.96: centre (0.7 + z²/20) / (1 + z²/10), and so on.
    z2 = 1.959963984540054**2
    centre = (0.7 + z2 / 20) / (1 + z2 / 10)
    half = sqrt(z2) * sqrt(0.7 * 0.3 / 10 + z2 / 400) / (1 + z2 / 10)
    assert both[1].whole.interval == pytest.approx((100 * (centre - half), 100 * (centre + half)))
    assert both[1].whole.interval == pytest.approx((39.68, 89.22), abs=0.01)


def test_paired_differences(both: list[Figures]) -> None:
    # airline 1100 to 1110: one gained. retail 100100 to 011110: gained 2, 3, 5; lost 1.
    paired = both[1].paired
    assert paired is not None
    assert (paired.pairs, paired.gained, paired.lost) == (10, 4, 1)
    assert paired.gain == 30.0
    # Two-sided binomial of 1 in 5: 2 * (1 + 5) / 32.
    assert paired.p == 0.375
    assert both[0].paired is None and both[0].base


def test_price_and_silence(both: list[Figures]) -> None:
    off, ours = both
    assert off.per_solved == pytest.approx(10 * 0.30 / 4)
    assert ours.per_solved == pytest.approx(10 * (0.30 + 0.25) / 7)
    # Ten looks a trial: once said something on the airline, twice in retail.
    assert ours.silence == pytest.approx(1 - (4 * 1 + 6 * 2) / 100)
    assert off.silence is None
    told = ours.to_json()
    assert told["tokens"] == {"input": 1_700_000, "output": 60_000, "cache_read": 1_100_000}
    assert told["money"] == 5.5 and told["memory_seconds"] == 125.0
    assert told["against"]["mcnemar_p"] == 0.375


def test_the_papers_own_figures_stand_beside(both: list[Figures]) -> None:
    beside = both[1].beside
    assert beside is not None and beside.name == "tau2-sonnet-selective"
    assert both[1].to_json()["paper"]["domains"]["airline"] == 78.0
    # 50 tasks at 78.0, 114 at 58.8, 114 at 57.9.
    assert beside.weighted == pytest.approx((50 * 78.0 + 114 * 58.8 + 114 * 57.9) / 278)
    assert round(beside.weighted, 1) == 61.9  # the paper rounds it to 61.8


def test_what_has_no_price_or_no_success_has_no_price_a_task(tmp_path: Path) -> None:
    results = begin(tmp_path / "x", config("off"), {})
    results.add(Trial("airline", "0", 0, 0.0, action=Took(1, 10, 1, 0, None), error="TimeoutError"))
    (row,) = figures([results])
    assert (row.per_solved, row.took.money, row.broken) == (None, None, 1)
    results.add(Trial("airline", "1", 0, 1.0))
    assert figures([results])[0].per_solved is None


def test_other_models_and_benchmarks_are_not_paired(tmp_path: Path) -> None:
    recorded(tmp_path, "off")
    other = begin(tmp_path / "o", replace(config("selective"), action_model="openai:x"), {})
    other.add(Trial("airline", "0", 0, 1.0))
    assert figures([load(tmp_path / "off"), other])[1].paired is None


def test_each_benchmark_has_a_base_of_its_own(tmp_path: Path) -> None:
    folders = [recorded(tmp_path, "off"), recorded(tmp_path, "selective")]
    for arm, solved in (("off", "1000"), ("bank", "1110")):
        told = replace(config(arm), benchmark="tb2", tasks={"": ["a", "b", "c", "d"]})
        other = begin(tmp_path / f"tb2-{arm}", told, {})
        for task, mark in zip("abcd", solved, strict=True):
            other.add(Trial("", task, 0, float(mark)))
        folders.append(other)
    rows = figures(folders)
    assert [row.base for row in rows] == [True, False, True, False]
    assert [row.paired and row.paired.gain for row in rows] == [None, 30.0, None, 50.0]
    texts = [e.text for e in ElementTree.fromstring(svg(rows)).iter() if e.tag.endswith("text")]
    first, second = (f"{name}, {config('off').action_model}" for name in NAMES)
    assert texts.index("retail") < texts.index(second) and texts.index(first) < texts.index("pure")


def test_folders_of_one_arm_are_told_apart(tmp_path: Path) -> None:
    first = [recorded(tmp_path / name, "selective") for name in ("a", "b")]
    second = begin(tmp_path / "again", config("selective"), {})
    second.add(Trial("airline", "0", 0, 1.0))
    names = [row.name for row in figures([recorded(tmp_path, "off"), first[0], second])]
    assert names == ["off", "pure (selective)", "pure (again)"]
    assert [row.name for row in figures(first[:1])] == ["pure"]
    long = recorded(tmp_path / "x", "selective").folder.rename(tmp_path / ("<of>" * 20))
    drawn = [e.text for e in ElementTree.fromstring(svg(figures([first[0], load(long)]))).iter()]
    assert "pure (<of><of><of><of…" in drawn and f"pure ({'<of>' * 20})" in drawn


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_holds_the_share(counted: tuple[int, int]) -> None:
    low, high = wilson(*counted)
    assert 0 <= low <= counted[0] / counted[1] <= high <= 1


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_test_of_pairs_is_symmetric_and_never_above_one(a: int, b: int) -> None:
    assert 0 < mcnemar(a, b) == mcnemar(b, a) <= 1


def test_the_test_of_pairs_at_known_values() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(0, 6) == pytest.approx(2 / 64)
    assert mcnemar(10, 2) == pytest.approx(2 * (1 + 12 + 66) / 4096)


def test_the_papers_averages_follow_from_its_domains() -> None:
    averages = {r.name: (round(r.macro, 1), round(r.weighted, 1)) for r in rows()}
    assert averages["tau2-sonnet-off"] == (57.5, 55.0)
    assert averages["tau2-sonnet-bank"] == (61.5, 58.6)
    assert averages["tau2-sonnet-always"] == (63.5, 61.5)
    assert averages["tau2-sonnet-advisor"] == (61.0, 60.8)
    assert averages["tau2-sonnet-mem0"] == (62.1, 60.8)
    assert averages["tau2-opus-off"][1] == 66.2


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("anthropic:claude-sonnet-4-5", True),
        ("openrouter/anthropic/claude-sonnet-4.5", True),
        ("anthropic/claude-sonnet-4-5-20250929", True),
        ("anthropic:claude-sonnet-4-6", False),
        ("anthropic:claude-sonnet-4", False),
    ],
)
def test_a_model_is_known_by_any_of_its_names(name: str, same: bool) -> None:
    assert is_model(name, "anthropic:claude-sonnet-4-5") is same


def test_a_dry_run_reckons_from_assumptions_or_from_a_run(tmp_path: Path) -> None:
    wanted = config_of(row_named("tau2-sonnet-selective"))
    assert (wanted.trials, wanted.pure, wanted.interval, wanted.window) == (278, True, 1, 8)
    guessed = forecast(wanted, load_prices())
    assert not guessed.measured and guessed.memory.input == 278 * 25 * 2 * 7000
    like = recorded(tmp_path, "selective")
    measured = forecast(wanted, load_prices(), like)
    # 11 calls a trial of 90,000 / 11 tokens in and 2,000 / 11 out; Sonnet is 3 and 15 dollars.
    assert measured.measured and measured.action.input == 278 * 90_000
    assert measured.action_money == pytest.approx(278 * (0.09 * 3 + 0.002 * 15), rel=1e-6)
    # Memory as in the folder, which is of the same arm: 20 calls a trial, of 4,000 tokens in.
    assert measured.memory.input == 278 * 80_000
    # Of another arm only the sizes count: one call of Mem0's model for each of the 11.
    mem0 = forecast(config_of(row_named("tau2-sonnet-mem0")), load_prices(), like)
    assert mem0.memory.input == 278 * 11 * 4000
    off = forecast(config_of(row_named("tau2-sonnet-off")), load_prices())
    assert off.memory.tokens == 0 and off.memory_money == 0 and off.money == off.action_money


def test_a_picture_is_well_formed_and_tells_every_row(both: list[Figures]) -> None:
    drawn = svg(both)
    root = ElementTree.fromstring(drawn)
    texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("off") == texts.count("pure") == 3  # all tasks, airline, retail
    assert "70.0" in texts and "75.0" in texts
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
