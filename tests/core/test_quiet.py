"""What a person does not want to hear."""

from __future__ import annotations

from pmem.core.decision import Reminder
from pmem.core.quiet import Quiet, read


def reminder(*entries: str, cause: str = "repeat::make") -> Reminder:
    return Reminder("`make` failed twice.", entries, "repeated_failure", cause)


def test_without_a_wish_everything_may_be_said() -> None:
    assert Quiet().refuses(reminder("make"), "s1") == ""


def test_a_muted_entry_is_not_cited() -> None:
    quiet = read([{"mute": "entry", "name": "make"}])
    assert quiet.refuses(reminder("other", "make"), "s1") == "the user muted make"
    assert quiet.refuses(reminder("other"), "s1") == ""


def test_a_muted_session_says_nothing_and_another_one_speaks() -> None:
    quiet = read([{"mute": "session", "name": "s1"}])
    assert quiet.refuses(reminder("make"), "s1") and not quiet.refuses(reminder("make"), "s2")


def test_a_cause_that_was_noise_stays_away_however_often_its_watch_would_tell_it() -> None:
    quiet = read([{"mute": "cause", "name": "watch:db"}])
    assert quiet.refuses(reminder("x", cause="watch:db"), "s")
    assert quiet.refuses(reminder("x", cause="watch:db#3"), "s")
    assert not quiet.refuses(reminder("x", cause="watch:db-2"), "s")
    assert not quiet.refuses(reminder("x", cause="repeat::echo watch:db#3"), "s")


def test_the_last_word_counts_and_nonsense_does_not() -> None:
    records = [
        {"mute": "entry", "name": "a"},
        {"mute": "entry", "name": "b"},
        {"unmute": "entry", "name": "a"},
        {"mute": "entry", "name": 7},
        {"mute": "planet", "name": "c"},
        {"unmute": "entry", "name": "never muted"},
    ]
    assert read(records) == Quiet(entries=frozenset({"b"}))
