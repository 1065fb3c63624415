"""A model beside the session: it never holds the agent up, and what it says must still be true."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from minds import FACT, HOOK, NOTHING, SAYS, TOLD, WRITES, Gated, Ring

from pmem.core.decision import Delivery, Reminder
from pmem.core.event import Answer, Compacting, Finished, Observed, Proposed, Started, UserMessage
from pmem.core.gate import Gate, Weights
from pmem.core.step import Action, Step
from pmem.memory.model import STYLES
from pmem.models.protocol import Reply, Request
from pmem.models.scripted import ScriptedModel
from pmem.session.ledger import Limits
from pmem.session.outside import Channel


def test_the_agent_never_waits_and_hears_it_with_the_next_event() -> None:
    model = Gated(WRITES, SAYS, NOTHING)
    ring = Ring(model)
    assert ring.ran("make", "error: db.h is missing", 2).reminder is None
    assert "db" not in ring.kept.bank.entries
    model.let(2)
    ring.settle()
    ring.mind.stop("enough for this test")
    answer = ring.ran("ls", "Makefile")
    assert answer.reminder is not None and answer.reminder.text == TOLD
    assert answer.delivery is Delivery.BEFORE
    assert ring.kept.bank.entries["db"].content == FACT["content"]
    [line] = ring.model_lines()
    assert line["decision"] == "remind" and line["model"]["calls"] == [1, 2]
    assert line["form"] in ("verbatim", "abstract")


def test_the_bank_takes_the_operations_as_soon_as_they_are_there() -> None:
    model = Gated(WRITES, NOTHING)
    ring = Ring(model)
    ring.ran("make", "error: db.h is missing", 2)
    model.let(2)
    ring.settle()
    ring.session.take_thoughts()
    assert "db" in ring.kept.bank.entries
    [line] = ring.model_lines()
    assert line["decision"] == "silent" and line["ops"] == ["SaveKnowledge"]


def test_in_sync_mode_it_is_told_with_the_very_event() -> None:
    ring = Ring(ScriptedModel([WRITES, SAYS, NOTHING]), sync=True)
    answer = ring.ran("make", "error: db.h is missing", 2)
    assert answer.reminder is not None and answer.reminder.text == TOLD


def test_in_sync_mode_the_wait_has_its_limit() -> None:
    model = Gated(WRITES, SAYS)
    ring = Ring(model, sync=True, timeout=0.05)
    assert ring.ran("make", "error: db.h is missing", 2).reminder is None
    model.let(9)


def test_in_sync_mode_nobody_waits_for_an_agent_that_is_gone() -> None:
    model = Gated(WRITES, SAYS)
    ring = Ring(model, sync=True, timeout=600.0)
    ring.thinking.given_up = lambda: True
    assert ring.ran("make", "error: db.h is missing", 2).reminder is None
    ring.mind.close()


def test_a_shell_s_prompt_is_never_held_back_for_a_model() -> None:
    model = Gated(WRITES, SAYS)
    ring = Ring(model, sync=True, timeout=600.0)
    assert ring.ran("make", "error: db.h is missing", 2, Channel("shell")).reminder is None
    model.let(9)


def late(ring: Ring, model: Gated) -> None:
    """The model has asked to remind; nobody has heard it yet."""
    ring.ran("make", "error: db.h is missing", 2)
    model.let(2)
    ring.settle()
    ring.session.take_thoughts()
    ring.mind.stop("enough for this test")


def test_it_is_dropped_when_the_user_has_spoken_since() -> None:
    model = Gated(WRITES, SAYS)
    ring = Ring(model)
    late(ring, model)
    answer = ring.session.handle(UserMessage("never mind the build, write the docs"), HOOK)
    assert answer.reminder is None
    assert "the user has spoken since" in ring.model_lines()[-1]["verdict"]


def close(ring: Ring) -> None:
    ring.session.close()


def clear(ring: Ring) -> None:
    ring.session.handle(Started("clear"), HOOK)


@pytest.mark.parametrize(("end", "why"), [(close, "session ended"), (clear, "trajectory has")])
def test_what_nobody_could_hear_any_more_is_recorded_with_what_it_took(
    end: Callable[[Ring], None], why: str
) -> None:
    ring = Ring(Gated(WRITES, SAYS))
    assert isinstance(ring.mind.agent.model, Gated)
    late(ring, ring.mind.agent.model)
    end(ring)
    [line] = ring.model_lines()
    assert (line["decision"], line["candidate"]) == ("silent", TOLD) and why in line["verdict"]
    assert line["model"]["calls"] == [1, 2]


def test_it_is_dropped_when_its_command_has_passed_since() -> None:
    writes = {
        "phase": "manage",
        "calls": [{
            "name": "memory_save_procedural",
            "arguments": {"id": "make", "content": "it needs libdb-dev", "outcome": "failed"},
        }],
    }  # fmt: skip
    says = {
        "phase": "decide",
        "text": f'<context_for_action entries="make">{TOLD}</context_for_action>',
    }
    model = Gated(writes, says)
    ring = Ring(model)
    late(ring, model)
    assert ring.ran("make", "all built").reminder is None
    assert "has passed since" in ring.model_lines()[-1]["verdict"]


def test_it_is_dropped_when_the_work_has_gone_far_past_it() -> None:
    model = Gated(WRITES, SAYS, NOTHING)
    ring = Ring(model)
    ring.ran("make", "error: db.h is missing", 2)
    model.arrived.acquire()
    for n in range(9):
        ring.session.handle(Proposed(Action("command", f"touch f{n}", cwd="/p")), HOOK)
        ring.ran(f"touch f{n}")
    model.let(99)
    ring.settle()
    ring.ran("touch last")
    assert ring.said() == []
    assert any("steps late" in d["verdict"] for d in ring.model_lines())


def test_it_is_dropped_when_the_last_step_shows_it() -> None:
    told = "make stopped at step 1; installing libdb-dev brings the header db.h"
    says = {
        "phase": "decide",
        "text": f'<context_for_action entries="db">{told}</context_for_action>',
    }
    model = Gated(WRITES, says)
    ring = Ring(model)
    late(ring, model)
    shown = "make stopped again\ninstalling libdb-dev brings the header db.h\n"
    assert ring.ran("cat BUILD", shown).reminder is None
    assert "shows it already" in ring.model_lines()[-1]["verdict"]


def test_a_proposed_action_is_answered_by_reflexes_alone() -> None:
    model = Gated(WRITES, SAYS)
    ring = Ring(model)
    late(ring, model)
    assert ring.session.handle(Proposed(Action("command", "ls", cwd="/p")), HOOK).reminder is None
    assert ring.ran("ls").reminder is not None


def test_questions_that_wait_become_one() -> None:
    model = Gated(NOTHING)
    ring = Ring(model)
    ring.ran("make", "error: db.h is missing", 2)
    model.arrived.acquire()
    for n in range(4):
        ring.ran(f"make part{n}", f"error: part {n}", 2)
    model.let(99)
    ring.settle()
    assert len(model.requests) == 2
    assert "make part3" in model.requests[1].messages[1].text


def test_a_question_that_waited_sees_what_the_one_before_it_did() -> None:
    delete = {"phase": "manage", "calls": [{"name": "memory_delete", "arguments": {"id": "db"}}]}
    model = Gated(WRITES, {"phase": "decide", "text": "<no_intervention/>"}, delete, NOTHING)
    ring = Ring(model)
    ring.ran("make", "error: db.h is missing", 2)
    model.arrived.acquire()
    ring.ran("make all", "error: db.h is missing", 2)
    model.let(99)
    ring.settle()
    assert "[db] | db.h comes from" in model.requests[2].messages[1].text
    ring.session.take_thoughts()
    assert "db" not in ring.kept.bank.entries


def test_rules_stay_the_reflexes_and_leave_the_status_to_the_model() -> None:
    ring = Ring(ScriptedModel([NOTHING]), sync=True)
    for _ in range(2):
        ring.ran("sh build.sh", "main.c:4: error: expected ';'\n", 2)
    answer = ring.session.handle(Proposed(Action("command", "sh build.sh", cwd="/p")), HOOK)
    assert answer.reminder is not None and answer.reminder.reason != "model"
    assert ring.kept.bank.status == ""


def test_a_watch_of_the_model_fires_steps_later_without_a_call() -> None:
    watch = {
        **FACT,
        "when": {"command": "git push*--force*"},
        "content": "AGENTS.md:3: no force-push.",
    }
    writes = {"calls": [{"name": "memory_save_knowledge", "arguments": watch}]}
    model = ScriptedModel([writes, NOTHING])
    ring = Ring(model, sync=True)
    ring.ran("cat AGENTS.md", "never force-push")
    ring.mind.stop("enough for this test")
    asked = len(model.requests)
    for n in range(27):
        ring.ran(f"touch f{n}")
    answer = ring.session.handle(Proposed(Action("command", "git push --force", cwd="/p")), HOOK)
    assert answer.reminder is not None and answer.reminder.reason == "watch:db"
    assert answer.delivery is Delivery.WITH_RESULT
    assert len(model.requests) == asked


def test_at_the_end_nobody_waits_for_the_model() -> None:
    model = Gated(WRITES)
    ring = Ring(model)
    ring.ran("make", "error: db.h is missing", 2)
    model.arrived.acquire()
    ring.mind.close(patience=0.05)
    assert ring.mind.ask(None, ring.session._moment(ring.session.lanes[None], "finish")) is False  # type: ignore[arg-type]


def test_a_memory_agent_that_breaks_is_silence_and_is_told() -> None:
    class Broken(ScriptedModel):
        def ask(self, request: Request) -> Reply:
            raise RuntimeError("no such thing should happen")

    ring = Ring(Broken([]), sync=True)
    told: list[str] = []
    ring.thinking.complain = told.append
    assert ring.ran("make", "error: x", 2).reminder is None
    assert "RuntimeError" in told[0]


def test_at_a_limit_one_line_and_rules_only() -> None:
    model = ScriptedModel([NOTHING])
    ring = Ring(model, sync=True, limits=Limits(session_tokens=10))
    ring.ran("make", "error: x", 2)
    asked = len(model.requests)
    for n in range(12):
        ring.ran(f"make p{n}", f"error: {n}", 2)
    assert len(model.requests) == asked == 1
    assert ring.thinking.notes == [
        "the limit session_tokens of 10 tokens is reached, rules only from here;"
        " pmem config session_tokens N raises it"
    ]


def test_what_only_the_user_can_mend_is_said_once() -> None:
    ring = Ring(ScriptedModel([{"error": "key", "times": 0}]), sync=True)
    for n in range(3):
        ring.ran(f"make p{n}", f"error: {n}", 2)
    assert ring.thinking.notes == ["the script says key"]


def test_the_raw_prompt_and_answer_of_each_call_are_kept() -> None:
    ring = Ring(ScriptedModel([WRITES, SAYS, NOTHING]), sync=True)
    ring.ran("make", "error: db.h is missing", 2)
    first, second = ring.raw
    assert first["phase"] == "manage" and first["calls"][0][0] == "memory_save_knowledge"
    assert second["n"] == 2 and TOLD in second["answer"]
    assert "db.h is missing" in first["messages"][1]["text"]


def test_deliver_none_logs_what_would_have_been_said() -> None:
    ring = Ring(ScriptedModel([WRITES, SAYS, NOTHING]), sync=True, deliver="none")
    assert ring.ran("make", "error: db.h is missing", 2).reminder is None
    assert ring.said() == [TOLD]
    assert ring.kept.decisions[-1]["delivery"] == "none"


def test_the_model_is_told_what_it_said_and_what_came_of_it() -> None:
    model = ScriptedModel([WRITES, SAYS, NOTHING])
    ring = Ring(model, sync=True)
    ring.ran("make", "error: db.h is missing", 2)
    ring.ran("apt-get install -y libdb-dev", "done")
    ring.session.handle(Finished("all built"), HOOK)
    news = model.requests[-1].messages[1].text
    assert f"| {TOLD}" in news and "then step 2 | apt-get install -y libdb-dev" in news


def test_at_the_end_of_a_turn_only_the_bank_is_kept_where_nobody_waits() -> None:
    model = ScriptedModel([WRITES, SAYS])
    ring = Ring(model)
    ring.session.handle(Finished("all done"), HOOK)
    ring.settle()
    ring.session.take_thoughts()
    assert [r.phase for r in model.requests] == ["manage"]
    assert "db" in ring.kept.bank.entries


SUMMARY = Step(0, "compaction", "[compacted]", "The build was tried.")


@pytest.mark.parametrize("told", [True, False])
def test_over_what_a_compaction_drops_phase_1_runs_once(told: bool) -> None:
    model = Gated(WRITES, NOTHING)
    ring = Ring(model)
    ring.ran("ls", "Makefile")
    model.let(2)
    ring.settle()
    if told:
        assert ring.session.handle(Compacting(), HOOK) == Answer()
        model.arrived.acquire()
    ring.session.handle(Observed(SUMMARY), HOOK)
    model.let(9)
    ring.settle()
    asked = [r for r in model.requests if "about to be replaced" in r.messages[1].text]
    assert [r.phase for r in asked] == ["manage"]
    assert ("The build was tried." in asked[0].messages[1].text) is not told


def test_in_sync_mode_a_compaction_waits_for_what_is_to_be_kept() -> None:
    ring = Ring(ScriptedModel([WRITES, NOTHING]), sync=True)
    assert ring.session.handle(Compacting(), HOOK) == Answer()
    assert "db" in ring.kept.bank.entries


def test_an_ablation_speaks_past_the_guard() -> None:
    note = f"<context_for_action>{'careful ' * 80}</context_for_action>"
    ring = Ring(ScriptedModel([{"text": note, "times": 0}]), style=STYLES["advisor"], sync=True)
    answer = ring.ran("make", "error: x", 2)
    assert isinstance(answer.reminder, Reminder)
    assert answer.reminder.text.count("careful") == 80


def test_a_gate_that_saves_a_call_saves_none_at_the_end_of_the_turn() -> None:
    never = Gate(ask=Weights(1.0, -9.0))
    model = ScriptedModel([{**NOTHING}])
    ring = Ring(model)
    ring.ran("make", "error: db.h is missing", 2)  # the first step is always asked about
    ring.settle()
    ring.mind.gate = never
    ring.ran("make", "error: db.h is missing", 2)
    before = len(ring.model_lines())
    ring.session.handle(Finished("It does not build."), HOOK)
    ring.settle()
    ring.session.take_thoughts()
    assert len(ring.model_lines()) > before
