"""What an episode is worth, part by part; and what is a pivot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import scripted_runs

from pmem.evaluation.agreement import Spoke
from pmem.evaluation.dataset import Run, load_dataset
from pmem.training.episode import Episode, Played, play
from pmem.training.pivots import (
    ROLLOUTS,
    Rollout,
    load_rollouts,
    pivots,
    policies_over,
    with_outcomes,
)
from pmem.training.policies import SILENT, keep, say
from pmem.training.rewards import REWARDS, load_weights, parts, worth
from pmem.training.turns import Turn, turns_of

TOLD = (
    "zstd.h: No such file or directory: make failed so at steps 2 and 5, before and after an edit."
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scripted_runs.write(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def runs(folder: Path) -> dict[str, Run]:
    return {run.id: run for run in load_dataset(folder)}


@pytest.fixture(scope="module")
def turns(runs: dict[str, Run]) -> dict[str, Turn]:
    return {turn.id: turn for run in runs.values() for turn in turns_of(run)}


@pytest.fixture
def wanted(turns: dict[str, Turn]) -> Turn:
    return turns["blind-zstd:6"]


@pytest.fixture
def unwanted(turns: dict[str, Turn]) -> Turn:
    return turns["healthy-limit:8"]


def told(turn: Turn, text: str = TOLD, content: str = TOLD) -> Episode:
    return play(turn, say(text, ["it"], [keep("it", content)]))


def reward(name: str, episode: Episode) -> float:
    value = REWARDS[name](episode)
    assert value is not None
    return value


def test_agreement_wants_the_right_words_at_the_right_time(wanted: Turn, unwanted: Turn) -> None:
    assert wanted.wanted is True and unwanted.wanted is False
    assert reward("agreement", told(wanted)) == 1
    assert reward("agreement", play(wanted, SILENT)) == -1
    other = "Makefile and README0.md were listed at step 1 by `ls`."
    assert told(wanted, other, other).delivered, "it reaches the agent"
    assert reward("agreement", told(wanted, other, other)) == -1
    assert reward("agreement", play(unwanted, SILENT)) == 1
    assert reward("agreement", told(unwanted)) == -1
    for turn in (wanted, unwanted):
        assert reward("agreement", play(turn, Played(text="hm"))) == -1


def test_where_nothing_tells_what_is_right_nothing_is_earned(turns: dict[str, Turn]) -> None:
    from dataclasses import replace

    unknown = replace(turns["blind-zstd:6"], wanted=None)
    for episode in (told(unknown), play(unknown, SILENT)):
        assert REWARDS["agreement"](episode) is None and REWARDS["outcome"](episode) is None
        assert worth(episode, load_weights()) <= 0


def test_an_outcome_is_the_reward_of_the_branch_less_that_of_the_other(wanted: Turn) -> None:
    rollouts = [
        Rollout("blind-zstd", 6, True, 1.0, TOLD),
        Rollout("blind-zstd", 6, True, 0.5, "nothing of use"),
        Rollout("blind-zstd", 6, False, 0.0),
        Rollout("blind-lmdb", 6, True, 1.0),
    ]
    [turn] = with_outcomes([wanted], rollouts)
    assert turn.outcome == {"spoke": 0.75, "silent": 0.0}
    assert reward("outcome", told(turn)) == 0.75
    assert reward("outcome", play(turn, SILENT)) == -0.75
    [turn] = with_outcomes([wanted], [Rollout(r.run, 6, not r.spoke, r.reward) for r in rollouts])
    assert reward("outcome", told(turn)) == -0.75
    assert reward("outcome", play(turn, SILENT)) == 0.75


def test_what_is_made_up_costs_in_a_reminder_and_in_the_bank(wanted: Turn) -> None:
    invented = "zstd.h is at /opt/zstd-1.5.9/include, see config_old.yaml:77."
    assert reward("grounding", told(wanted)) == 0
    assert reward("grounding", told(wanted, invented)) < -0.5
    kept = play(wanted, Played((keep("x", invented),), answer="<no_intervention/>"))
    assert reward("grounding", kept) < -0.5
    assert reward("grounding", play(wanted, SILENT)) == 0


def test_copying_costs_and_quoting_a_line_does_not(turns: dict[str, Turn]) -> None:
    turn = turns["blind-zstd:7"]
    long = " ".join(step.observation for step in turn.moment.window if step.number == 5)
    assert reward("copying", told(turn)) == 0
    assert reward("copying", told(turn, long, "x at step 5")) < 0
    assert reward("copying", told(turn, TOLD, long)) < 0


def test_each_word_over_sixty_costs(wanted: Turn) -> None:
    costs = [reward("brevity", told(wanted, "make " * n)) for n in (60, 61, 120, 180, 400)]
    assert costs[0] == 0 and costs == sorted(costs, reverse=True) and costs[-1] == -1


def test_speaking_costs_even_where_the_guard_refuses(wanted: Turn) -> None:
    refused = told(wanted, "Be careful, and check your work.")
    assert not refused.delivered and reward("speaking", refused) == -1
    assert reward("speaking", play(wanted, SILENT)) == 0


def test_calls_that_change_nothing_cost(wanted: Turn) -> None:
    def kept(*calls: tuple[str, dict[str, str]]) -> float:
        return reward("upkeep", play(wanted, Played(calls, answer="<no_intervention/>")))

    once, gone = keep("a", "zstd.h is missing"), ("memory_delete", {"id": "a"})
    assert kept(once) == 0
    assert kept(once, once) == -0.5
    assert kept(once, gone) == -1
    assert kept(keep("a", "word " * 150), keep("b", "word " * 150)) < 0


def test_a_watch_earns_what_it_says_later(turns: dict[str, Turn]) -> None:
    def armed(turn: Turn, glob: str, content: str) -> float | None:
        call = keep("w", content)
        call = (call[0], {**call[1], "when": {"command": glob, "times": 9}})
        return REWARDS["watches"](play(turn, Played((call,), answer="<no_intervention/>")))

    missing = "rg is not installed here: `rg parse_header lib` was not found at step 2."
    turn = turns["tool-rg:4"]
    assert armed(turn, "rg *", missing) == 1
    assert armed(turn, "g*", missing) == -1
    assert armed(turn, "cargo *", missing) == 0
    assert REWARDS["watches"](play(turn, SILENT)) is None


def test_form_alone_earns_nothing(turns: dict[str, Turn]) -> None:
    weights = load_weights()
    for turn in turns.values():
        earns = parts(play(turn, SILENT), weights)
        assert all(value <= 0 for name, value in earns.items() if name not in ("agreement",))
        assert reward("format", play(turn, SILENT)) == 0
        assert reward("format", play(turn, Played(answer="<no_intervention/>"))) == -1


# --- weights -------------------------------------------------------------------------------------


def test_weights_are_a_file_of_ones_own_over_ours(tmp_path: Path) -> None:
    own = tmp_path / "w.toml"
    own.write_text("[weights]\nspeaking = 0\nbrevity = 2\n")
    weights = load_weights(own)
    assert weights["speaking"] == 0 and weights["brevity"] == 2 and weights["agreement"] == 1
    assert set(load_weights()) == set(REWARDS)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("speaking = 1", "table"),
        ("[weights]\nspeking = 1", "speking"),
        ("[weights]\nspeaking = 'much'", "numbers"),
        ("[weights", "numbers"),
    ],
)
def test_a_broken_file_of_weights_is_told(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "w.toml").write_text(text)
    with pytest.raises(ValueError, match=why):
        load_weights(tmp_path / "w.toml")
    with pytest.raises(ValueError, match="cannot read"):
        load_weights(tmp_path / "none.toml")


# --- pivots --------------------------------------------------------------------------------------


def test_pivots_are_where_policies_and_labels_disagree(
    runs: dict[str, Run], turns: dict[str, Turn], folder: Path
) -> None:
    decisions = policies_over(list(runs.values()), folder)
    found = pivots(turns.values(), decisions, balanced=False)
    assert {"rules", "always", "played"} <= decisions.keys()
    by_id = {turn.id: turn for turn in found}
    assert "blind-zstd:6" in by_id and "a reminder is right" in by_id["blind-zstd:6"].why
    assert all(turn.wanted is not None and turn.why for turn in found)
    agreed = {
        "agree": {
            run.id: Spoke(frozenset(run.decision_points), frozenset()) for run in [*runs.values()]
        }
    }
    silent = [turn for turn in turns.values() if not turn.wanted]
    assert pivots(silent, agreed) == []


def test_there_are_as_many_to_be_silent_at_as_to_speak(
    runs: dict[str, Run], turns: dict[str, Turn]
) -> None:
    found = pivots(turns.values(), policies_over(list(runs.values())))
    speak = sum(turn.wanted is True for turn in found)
    assert 0 < speak == len(found) - speak
    assert [t.id for t in found] == [t.id for t in turns.values() if t.id in {f.id for f in found}]


def test_other_ends_make_a_pivot_and_equal_ones_none(wanted: Turn) -> None:
    from dataclasses import replace

    bare = replace(wanted, wanted=None)

    def ends(spoke: float, silent: float) -> list[Turn]:
        branches = [Rollout(bare.run, 6, True, spoke), Rollout(bare.run, 6, False, silent)]
        return pivots(with_outcomes([bare], branches), {})

    assert [t.why for t in ends(1.0, 0.0)] == ["reward 1.00 with a reminder, 0.00 without"]
    assert len(ends(0.0, 1.0)) == 1
    assert ends(0.5, 0.55) == [] and pivots([bare], {}) == []


def test_rollouts_are_read_and_a_broken_one_is_told(folder: Path, tmp_path: Path) -> None:
    assert load_rollouts(folder) == []
    rows = [{"trajectory": "a", "before_step": 3, "spoke": True, "reward": 1, "text": "x"}]
    scripted_runs.put(tmp_path / ROLLOUTS, rows)
    assert load_rollouts(tmp_path) == [Rollout("a", 3, True, 1, "x")]
    with (tmp_path / ROLLOUTS).open("a") as file:
        file.write(json.dumps({**rows[0], "reward": 7}) + "\n")
    with pytest.raises(ValueError, match="line 2"):
        load_rollouts(tmp_path)
