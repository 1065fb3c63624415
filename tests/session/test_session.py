"""The ring: events in, steps recorded, the memory agent asked, the guard passed, one answer out."""

from __future__ import annotations

import pytest
from rings import BROKEN, BUILD, HOOK, SHELL, Kept, Recorder, ran, ring, wants

from pmem.core.decision import Delivery, Reminder, Silence, Trigger
from pmem.core.event import Answer, Finished, Started, UserMessage
from pmem.core.moment import Changed
from pmem.memory.rules import Rules
from pmem.session.private import private_commands
from pmem.session.shell_intake import prohibits, take


def test_steps_are_numbered_recorded_and_folded_into_the_bank() -> None:
    kept = Kept()
    session = ring(None, kept)
    for event in (ran(BUILD, BROKEN, 2), ran("ls", "src\n"), ran(BUILD, BROKEN, 2)):
        session.handle(event, HOOK)
    assert [s.number for s in kept.steps] == [1, 2, 3]
    [entry] = kept.bank.procedural
    assert (entry.command, entry.attempts, entry.exit_code) == (BUILD, 2, 2)
    assert entry.failed_steps == (1, 3)
    assert "expected ';'" in entry.content


def test_the_third_identical_failure_is_held_once_and_then_goes_through() -> None:
    kept = Kept()
    session = ring(Rules(), kept)
    for event in (ran(BUILD, BROKEN, 2), ran(BUILD, BROKEN, 2), ran("cat notes.txt", "hello\n")):
        assert session.handle(event, HOOK).reminder is None
    held = session.handle(wants(BUILD), HOOK)
    assert held.reminder is not None and held.hold
    assert held.delivery is Delivery.BEFORE
    assert "1" in held.reminder.text and "2" in held.reminder.text
    assert [c.id for c in held.citations] == list(held.reminder.entries)
    again = session.handle(wants(BUILD), HOOK)
    assert again.reminder is None and not again.hold
    assert [d["decision"] for d in kept.decisions].count("remind") == 1


@pytest.mark.parametrize("hold, held", [("never", False), ("sure", True), ("watch", True)])
def test_hold_is_the_users_choice(hold: str, held: bool) -> None:
    session = ring(Rules(), Kept(), hold=hold)
    for event in (ran(BUILD, BROKEN, 2), ran(BUILD, BROKEN, 2), ran("pwd", "/p\n")):
        session.handle(event, HOOK)
    answer = session.handle(wants(BUILD), HOOK)
    assert answer.reminder is not None
    assert answer.hold is held
    assert answer.delivery is (Delivery.BEFORE if held else Delivery.WITH_RESULT)


def test_a_shell_cannot_hold_and_says_so_in_the_delivery() -> None:
    session = ring(Rules(), Kept())
    for event in (ran(BUILD, BROKEN, 2), ran(BUILD, BROKEN, 2), ran("pwd", "/p\n")):
        session.handle(event, SHELL)
    answer = session.handle(wants(BUILD), SHELL)
    assert answer.reminder is not None and not answer.hold
    assert answer.delivery is Delivery.WITH_RESULT


def test_a_file_changed_from_outside_keeps_it_silent() -> None:
    session = ring(Rules(), Kept(), changed_since=lambda since: Changed.YES)
    for event in (ran(BUILD, BROKEN, 2), ran(BUILD, BROKEN, 2), ran("pwd", "/p\n")):
        session.handle(event, HOOK)
    assert session.handle(wants(BUILD), HOOK).reminder is None


def test_a_rule_of_agents_md_is_known_before_the_first_action() -> None:
    kept = Kept()
    session = ring(
        Rules(), kept, rule_files=lambda: [("AGENTS.md", "# Rules\n\nNever force-push.\n")]
    )
    answer = session.handle(wants("git push --force origin main"), HOOK)
    assert answer.reminder is not None
    assert "AGENTS.md:3" in answer.reminder.text and "Never force-push" in answer.reminder.text
    assert session.handle(wants("git push origin main"), HOOK).reminder is None


def test_a_secret_reaches_neither_the_log_nor_the_bank_nor_the_memory_agent() -> None:
    token = "ghp_" + "a1B2" * 9
    kept, memory = Kept(), Recorder()
    session = ring(memory, kept, task=f"use {token}")
    session.handle(UserMessage(f"the token is {token}"), HOOK)
    session.handle(ran(f"curl -H 'Authorization: token {token}' x", f"{token}\n", 1), HOOK)
    everything = repr((kept.steps, kept.decisions, kept.bank.entries, memory.managed, session.task))
    assert token not in everything
    assert "ghp_" in everything


def test_the_first_message_is_the_task_and_triggers() -> None:
    kept, memory = Kept(), Recorder()
    session = ring(memory, kept)
    session.handle(UserMessage("Port the parser to C."), HOOK)
    session.handle(UserMessage("And keep the tests."), HOOK)
    assert session.task == "Port the parser to C."
    assert [m.trigger for m in memory.managed] == [
        Trigger.FIRST_STEP,
        Trigger.USER_MESSAGE,
        Trigger.USER_MESSAGE,
    ]


def test_the_interval_counts_steps() -> None:
    memory = Recorder()
    session = ring(memory, Kept(), interval=3)
    for n in range(1, 8):
        session.handle(ran(f"echo {n}", f"{n}\n"), HOOK)
    assert [m.window[-1].number for m in memory.managed if m.trigger is Trigger.INTERVAL] == [3, 6]


def test_a_reminder_that_cites_nothing_is_not_said_and_the_log_says_why() -> None:
    kept = Kept()
    made_up = Reminder("The port is 9090 (step 1).", ("no-such-entry",), "model", "port")
    session = ring(Recorder(lambda m: made_up), kept)
    assert session.handle(ran("false", "", 1), HOOK).reminder is None
    assert kept.decisions[-1]["decision"] == "silent"
    assert kept.decisions[-1]["candidate"] == made_up.text
    assert kept.decisions[-1]["verdict"]


def test_a_reminder_with_the_result_of_one_step_is_before_the_next() -> None:
    kept = Kept()
    fact = Reminder("The server listens on port 8080 (step 1).", ("port",), "model", "port")
    session = ring(Recorder(lambda m: fact), kept)
    answer = session.handle(ran("./client", "connection refused\n", 1), HOOK)
    assert answer.reminder is not None
    assert answer.delivery is Delivery.BEFORE
    assert kept.decisions[-1]["cited"][0]["id"] == "port"


def test_at_the_finish_a_reminder_comes_late() -> None:
    fact = Reminder("The server listens on port 8080 (step 1).", ("port",), "model", "port")
    session = ring(Recorder(lambda m: fact if m.trigger is Trigger.FINISH else Silence("")), Kept())
    session.handle(ran("./serve &"), HOOK)
    answer = session.handle(Finished("done"), HOOK)
    assert answer.delivery is Delivery.LATE


def test_a_subagent_is_a_trajectory_of_its_own_on_the_shared_bank() -> None:
    kept = Kept()
    session = ring(Rules(), kept)
    session.handle(ran(BUILD, BROKEN, 2), HOOK)
    session.handle(ran(BUILD, BROKEN, 2, agent_id="sub"), HOOK)
    session.handle(ran("pwd", "/p\n"), HOOK)
    assert session.handle(wants(BUILD), HOOK).reminder is None
    assert kept.bank.procedural[0].attempts == 2


def test_clear_opens_a_new_window_but_numbers_go_on() -> None:
    kept = Kept()
    session = ring(Rules(), kept)
    for event in (ran(BUILD, BROKEN, 2), ran(BUILD, BROKEN, 2)):
        session.handle(event, HOOK)
    session.handle(Started("clear"), HOOK)
    session.handle(ran("pwd", "/p\n"), HOOK)
    assert kept.steps[-1].number == 3
    assert session.handle(wants(BUILD), HOOK).reminder is None


def test_a_refused_call_is_a_step_but_no_attempt() -> None:
    kept = Kept()
    session = ring(None, kept)
    session.handle(ran("rm -rf build", "the user said no", 1, refused=True), HOOK)
    assert kept.steps[0].refused
    assert kept.bank.entries == {}


def test_off_records_steps_and_says_nothing() -> None:
    kept = Kept()
    session = ring(None, kept)
    for event in (ran(BUILD, BROKEN, 2), ran(BUILD, BROKEN, 2), ran("pwd", "/p\n")):
        assert session.handle(event, HOOK).reminder is None
    assert session.handle(wants(BUILD), HOOK).reminder is None
    assert len(kept.steps) == 3


def test_a_private_command_is_counted_and_nothing_of_it_is_kept() -> None:
    kept = Kept()
    session = ring(Rules(), kept)
    told = {"type": "finished", "n": 1, "command": "secret --now", "output": "x", "private": True}
    take(session, told)
    assert session.tally.steps == 1
    assert "secret" not in repr((kept.steps, kept.bank.entries))
    assert kept.bank.entries == {}


def test_a_command_the_user_named_private_is_counted_and_not_recorded() -> None:
    kept = Kept()
    session = ring(Rules(), kept, is_private=private_commands(["vault *"]))
    session.handle(wants("vault read secret/x"), HOOK)
    session.handle(ran("cd /p && vault read secret/x", "s3cr3t\n"), HOOK)
    session.handle(ran("echo vault", "vault\n"), HOOK)
    assert session.tally.steps == 2
    everything = repr((kept.steps, kept.decisions, kept.bank.entries))
    assert "secret/x" not in everything and "s3cr3t" not in everything
    assert "echo vault" in everything


def test_in_a_shell_a_prohibition_is_put_to_the_person_and_a_repeat_is_not() -> None:
    session = ring(Rules(), Kept(), rule_files=lambda: [("AGENTS.md", "Never force-push.\n")])

    def entered(command: str) -> Answer:
        told = {"type": "entered", "n": 1, "command": command, "cwd": "/p", "can_hold": True}
        return take(session, told)

    for event in (ran(BUILD, BROKEN, 2), ran(BUILD, BROKEN, 2), ran("pwd", "/p\n")):
        session.handle(event, SHELL)
    assert entered("git push --force").hold
    repeat = entered(BUILD)
    assert repeat.reminder is not None and not repeat.hold


@pytest.mark.parametrize("told", [True, False, None])
def test_a_hold_in_a_shell_is_recorded_as_what_became_of_it(told: bool | None) -> None:
    kept = Kept()
    session = ring(Rules(), kept, rule_files=lambda: [("AGENTS.md", "Never force-push.\n")])
    about = {"command": "git push --force", "cwd": "/p", "can_hold": True, "confirms": True}
    assert take(session, {"type": "entered", "n": 1, **about}).hold
    assert not kept.decisions  # it is not known yet
    if told is not None:
        take(session, {"type": "held", "of": 1, "held": told})
    session.close()
    [decision] = kept.decisions
    assert decision["hold"] is (told is not False)
    assert decision["delivery"] == ("with_result" if told is False else "before")
    assert session.tally.holds == (told is not False)


def test_a_shell_hears_whether_anything_is_forbidden() -> None:
    session = ring(Rules(), Kept())
    take(session, {"type": "entered", "command": "ls", "cwd": "/p"})
    assert not prohibits(session)
    session = ring(Rules(), Kept(), rule_files=lambda: [("AGENTS.md", "Never force-push.\n")])
    take(session, {"type": "entered", "command": "ls", "cwd": "/p"})
    assert prohibits(session)


def test_a_command_dropped_at_the_gate_never_ran() -> None:
    kept = Kept()
    take(ring(None, kept), {"type": "finished", "command": "x", "cwd": "/p", "dropped": True})
    assert kept.steps[0].refused and kept.bank.entries == {}
