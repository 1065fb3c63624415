"""A conversation goes on: what was done without pmem is caught up with; a compaction is bridged."""

from __future__ import annotations

from pathlib import Path

from rings import BROKEN, BUILD, HOOK, Kept, Recorder, ran, ring, wants

from pmem.core.event import Answer, Observed, Started, UserMessage
from pmem.core.step import PRIVATE, Step
from pmem.memory.rules import Rules
from pmem.session.private import private_commands
from pmem.session.session import Session
from pmem.store.calls import recorded_calls
from pmem.store.session_log import SessionLog

SUMMARY = Observed(Step(0, "compaction", "[compacted]", "The build was tried."))


def past(*events: Observed, task: str = "make it build") -> Started:
    steps = (Step(0, "user", "", task), *(event.step for event in events))
    return Started("resume", None, steps)


def test_the_numbers_go_on_and_what_was_done_counts() -> None:
    kept = Kept()
    session = ring(Rules(), kept)
    began = session.handle(past(ran(BUILD, BROKEN, 2), ran("ls", "src\n")), HOOK)
    assert began == Answer()
    session.handle(UserMessage("go on"), HOOK)
    session.handle(ran(BUILD, BROKEN, 2), HOOK)
    session.handle(ran("pwd", "/p\n"), HOOK)
    assert [step.number for step in kept.steps] == [1, 2, 3, 4, 5, 6]
    assert session.handle(wants(BUILD), HOOK).hold
    [entry] = kept.bank.procedural
    assert (entry.attempts, entry.failed_steps) == (2, (2, 5))


def test_the_first_words_of_the_past_are_the_task() -> None:
    kept = Kept()
    session = ring(Recorder(), kept)
    session.handle(past(ran("ls")), HOOK)
    session.handle(UserMessage("go on"), HOOK)
    assert session.task == kept.task == "make it build"


def test_the_past_is_taken_in_without_a_word_and_without_a_decision() -> None:
    kept = Kept()
    session = ring(Rules(), kept)
    session.handle(past(*[ran(BUILD, BROKEN, 2)] * 9), HOOK)
    assert kept.decisions == [] and session.tally.reminders == 0
    assert session.tally.steps == 0


def test_calls_that_an_earlier_session_recorded_do_not_count_twice() -> None:
    kept = Kept()
    session = ring(Rules(), kept, recorded=lambda ids: {"a"})
    session.handle(
        past(ran(BUILD, BROKEN, 2, call_id="a"), ran(BUILD, BROKEN, 2, call_id="b")), HOOK
    )
    [entry] = kept.bank.procedural
    assert entry.attempts == 1


def test_private_commands_of_the_past_stay_private() -> None:
    kept = Kept()
    session = ring(None, kept, is_private=private_commands(["vault *"]))
    session.handle(past(ran("vault read it", "secret")), HOOK)
    assert kept.steps[-1].action == PRIVATE and kept.steps[-1].observation == ""


def test_which_calls_were_recorded_is_read_from_the_logs(tmp_path: Path) -> None:
    for number, id in enumerate(("a", "b")):
        log = SessionLog(tmp_path, f"20260102-03040{number}-claude", {})
        log.step(Step(1, "command", "ls", "", call_id=id))
        log.close()
    assert recorded_calls(tmp_path, ["a", "b", "c"]) == {"a", "b"}
    assert recorded_calls(tmp_path, ["a", "b"], but="20260102-030401-claude") == {"a"}
    assert recorded_calls(tmp_path / "none", ["a"]) == frozenset()


def failing(kept: Kept) -> Session:
    session = ring(Rules(), kept, rule_files=lambda: [("AGENTS.md", "- Never force-push.\n")])
    session.handle(UserMessage("make it build"), HOOK)
    session.handle(ran(BUILD, BROKEN, 2), HOOK)
    return session


def test_after_a_compaction_there_is_one_digest_whichever_event_comes_first() -> None:
    for order in ((Started("compact"), SUMMARY), (SUMMARY, Started("compact"))):
        session = failing(Kept())
        for _ in range(2):  # and for each compaction one
            texts = [a.reminder.text for e in order if (a := session.handle(e, HOOK)).reminder]
            [digest] = texts
            assert "Never force-push." in digest and "`sh build.sh`" in digest
            assert "2" in digest
            assert session.handle(ran("pwd", "/p\n"), HOOK).reminder is None


def test_where_only_the_summary_is_told_the_digest_comes_with_the_next_step() -> None:
    session = failing(Kept())
    for _ in range(2):
        assert session.handle(SUMMARY, HOOK).reminder is None
        told = session.handle(ran("pwd", "/p\n"), HOOK).reminder
        assert told is not None and told.reason == "digest"
        assert session.handle(ran("ls", "src\n"), HOOK).reminder is None


def test_with_nothing_to_lose_a_compaction_is_passed_in_silence() -> None:
    session = ring(Rules(), Kept())
    session.handle(ran("ls", "src\n"), HOOK)
    assert session.handle(Started("compact"), HOOK).reminder is None
    assert session.handle(SUMMARY, HOOK).reminder is None
    assert session.handle(ran("pwd", "/p\n"), HOOK).reminder is None
