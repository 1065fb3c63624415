"""The bank after any operations: one id space, one entry a command, sentences that stay true."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from pmem.core.bank import (
    MAX_STATUS,
    MAX_STEPS_KEPT,
    BankOp,
    Delete,
    Entry,
    MemoryBank,
    PutEntry,
    RecordAttempt,
    SaveKnowledge,
    SaveProcedural,
    UpdateStatus,
    describe,
    free_id,
    normal_id,
)
from pmem.core.fold import contradicts


def attempt(step: int, failed: bool = True, **more: object) -> RecordAttempt:
    run = RecordAttempt(
        "npm test", "api", failed, 1 if failed else 0, "no db" if failed else "", "out", step, "s1"
    )
    return replace(run, **more)  # type: ignore[arg-type]


def bank_after(*ops: BankOp) -> MemoryBank:
    bank = MemoryBank()
    for op in ops:
        bank.apply(op)
    return bank


def test_saving_a_known_id_updates_it_in_its_place() -> None:
    bank = bank_after(
        SaveKnowledge("port", "8080", ("net",)),
        SaveKnowledge("node", "22"),
        SaveKnowledge("port", "9090"),
    )
    assert [(e.id, e.content) for e in bank.knowledge] == [("port", "9090"), ("node", "22")]


def test_knowledge_and_procedural_share_one_id_space() -> None:
    bank = bank_after(
        SaveKnowledge("db", "runs on 5432"), SaveProcedural("db", "start it", "succeeded")
    )
    assert bank.knowledge == []
    [entry] = bank.procedural
    assert (entry.id, entry.content, entry.outcome) == ("db", "start it", "succeeded")


def test_an_attempt_that_becomes_knowledge_leaves_its_runs_behind() -> None:
    bank = bank_after(attempt(2), SaveKnowledge("npm-test", "needs a database"))
    [entry] = bank.knowledge
    assert (entry.command, entry.attempts, entry.failed_steps) == ("", 0, ())
    bank.apply(attempt(5))
    [fresh] = bank.procedural
    assert fresh.id == "npm-test-2" and fresh.attempts == 1


def test_ids_are_normalised_and_found_however_they_are_written() -> None:
    bank = bank_after(SaveKnowledge("The API Port!", "8080"))
    assert list(bank.entries) == ["the-api-port"]
    bank.apply(SaveKnowledge("the api port", "9090"))
    assert bank.entries["the-api-port"].content == "9090"
    bank.apply(Delete("THE API PORT"))
    assert bank.entries == {}


def test_an_id_that_a_person_wrote_is_found_as_it_stands() -> None:
    bank = bank_after(PutEntry(Entry("knowledge", "My Rule!", "no force-push", source="user")))
    bank.apply(SaveKnowledge("My Rule!", "never force-push", source="user"))
    assert [(e.id, e.content) for e in bank.knowledge] == [("My Rule!", "never force-push")]
    bank.apply(Delete("My Rule!", "user"))
    assert bank.entries == {}


@pytest.mark.parametrize("id", ["", "  ", "---", "!?", "\ud800"])
def test_an_id_of_nothing_is_refused_by_save_and_ignored_by_delete(id: str) -> None:
    for op in (SaveKnowledge(id, "x"), SaveProcedural(id, "x", "failed")):
        with pytest.raises(ValueError, match="no usable id"):
            bank_after(op)
    assert bank_after(Delete(id)).entries == {}


def test_what_a_person_wrote_is_not_saved_over_by_anybody_else() -> None:
    bank = MemoryBank()
    bank.apply(SaveKnowledge("port", "It is 8080.", source="user", when={"command": "serve*"}))
    for op in (
        SaveKnowledge("port", "It is 9090."), SaveProcedural("port", "x", "failed"),
        Delete("port"), Delete("Port"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="port was written by a person"):
            bank.apply(op)
    bank.apply(SaveKnowledge("port", "It is 8081.", source="user"))
    assert bank.entries["port"].content == "It is 8081."


def test_the_watch_of_an_entry_outlives_a_new_content() -> None:
    bank = bank_after(
        SaveKnowledge("rule", "old", when={"command": "git push*"}), SaveKnowledge("rule", "new")
    )
    assert bank.entries["rule"].when == {"command": "git push*"}


def test_the_status_is_cut_to_its_limit() -> None:
    assert bank_after(UpdateStatus("x" * 5000)).status == "x" * MAX_STATUS


def test_attempts_of_one_command_fold_into_one_entry() -> None:
    bank = bank_after(attempt(2), attempt(4), attempt(7, failed=False))
    [entry] = bank.procedural
    assert entry.id == "npm-test"
    assert (entry.attempts, entry.outcome, entry.exit_code) == (3, "succeeded", 0)
    assert (entry.first_step, entry.last_step) == (2, 7)
    assert entry.content == "npm test in api/: failed at steps 2, 4 (“no db”); passed at step 7."


def test_the_same_command_elsewhere_is_another_entry() -> None:
    bank = bank_after(attempt(1), attempt(2, cwd="web"))
    assert [(e.id, e.cwd) for e in bank.procedural] == [("npm-test", "api"), ("npm-test-2", "web")]


def test_a_sentence_that_someone_wrote_is_kept_while_attempts_are_counted() -> None:
    bank = bank_after(
        attempt(1), SaveProcedural("npm-test", "start the db first", "diagnosis"), attempt(3)
    )
    [entry] = bank.procedural
    assert entry.content == "start the db first"
    assert (entry.attempts, entry.last_step, entry.outcome) == (2, 3, "failed")


def test_another_session_counts_steps_anew_and_remembers_how_many_came_before() -> None:
    bank = bank_after(attempt(2), attempt(4), attempt(1, session="s2"))
    [entry] = bank.procedural
    assert (entry.attempts, entry.first_step, entry.failed_steps) == (3, 1, (1,))
    assert entry.content == "npm test in api/: failed at step 1 (“no db”); 2 earlier attempts."


def test_a_command_run_a_thousand_times_keeps_the_latest_steps() -> None:
    [entry] = bank_after(*(attempt(n) for n in range(1, 1001))).procedural
    assert entry.attempts == 1000
    assert entry.failed_steps == tuple(range(1001 - MAX_STEPS_KEPT, 1001))
    assert "992 earlier attempts" in entry.content


def test_a_command_of_punctuation_has_an_id_too() -> None:
    bank = bank_after(attempt(1, command="[[ ]]"), attempt(2, command="(( ))"))
    assert list(bank.entries) == ["command", "command-2"]


def test_two_entries_of_one_command_by_hand_give_one_to_fold_into() -> None:
    first = Entry("procedural", "a", "by hand", command="make", cwd="")
    second = replace(first, id="b")
    bank = MemoryBank("", [first, second])
    assert bank.attempt("make", "") == second
    bank.remove("b")
    assert bank.attempt("make", "") == first
    bank.put(replace(first, command="ninja"))
    assert bank.attempt("make", "") is None
    assert bank.attempt("ninja", "") == replace(first, command="ninja")


def test_a_replaced_entry_frees_its_command() -> None:
    bank = bank_after(attempt(1), PutEntry(Entry("knowledge", "npm-test", "x")))
    assert bank.attempt("npm test", "api") is None


def test_one_word_in_two_unicode_spellings_is_one_id() -> None:
    assert normal_id("\u1100\u1172\u110e\u1175\u11a8") == normal_id("규칙") == "규칙"


def test_free_ids_are_short_enough_to_be_ids() -> None:
    base = "x" * 48
    taken = {base, *(f"{'x' * 46}-{n}" for n in range(2, 10))}
    id = free_id(base, taken)
    assert id not in taken and len(id) <= 48 and normal_id(id) == id


@given(st.text(st.characters(), max_size=120))
def test_a_normal_id_is_its_own_normal_id(text: str) -> None:
    try:
        id = normal_id(text)
    except ValueError:
        return
    assert normal_id(id) == id
    assert 0 < len(id) <= 48
    assert id.strip() == id and "\n" not in id


ids = st.sampled_from(["a", "b", "A!", "npm-test", "make", "규칙", "make-2", " b "])
commands = st.sampled_from(["npm test", "make", "[[", "cd x && make"])
texts = st.text(max_size=12)
operations = st.one_of(
    st.builds(UpdateStatus, texts),
    st.builds(SaveKnowledge, ids, texts, st.tuples(texts)),
    st.builds(SaveProcedural, ids, texts, st.sampled_from(["failed", "succeeded", "diagnosis"])),
    st.builds(Delete, ids),
    st.builds(
        RecordAttempt,
        commands,
        st.sampled_from(["", "api"]),
        st.booleans(),
        st.none() | st.integers(0, 255),
        texts,
        texts,
        st.integers(1, 999),
        st.sampled_from(["s1", "s2"]),
    ),
    st.builds(
        PutEntry,
        st.builds(
            Entry,
            st.sampled_from(["knowledge", "procedural"]),
            ids,
            texts,
            command=st.just("") | commands,
        ),
    ),
)


@examples(300)
@given(st.lists(operations, max_size=40))
def test_after_any_operations_the_bank_is_sound(ops: list[BankOp]) -> None:
    bank = bank_after(*ops)
    assert all(id == entry.id for id, entry in bank.entries.items())
    assert len(bank.knowledge) + len(bank.procedural) == len(bank.entries)
    for entry in bank.entries.values():
        if entry.command:
            folded = bank.attempt(entry.command, entry.cwd)
            assert folded is not None and (folded.command, folded.cwd) == (entry.command, entry.cwd)
        assert entry.attempts >= len(entry.failed_steps) + len(entry.passed_steps)
    again = MemoryBank(bank.status, bank.entries.values())
    assert again.entries == bank.entries
    assert {c: again.attempt(*c) is None for c in (("make", ""), ("npm test", "api"))} == {
        c: bank.attempt(*c) is None for c in (("make", ""), ("npm test", "api"))
    }


@examples(200)
@given(st.lists(operations, max_size=30), commands, st.booleans())
def test_an_attempt_is_always_found_again_and_counted(
    ops: list[BankOp], command: str, failed: bool
) -> None:
    bank = bank_after(*ops)
    before = bank.attempt(command, "")
    bank.apply(RecordAttempt(command, "", failed, None, "", "", 1000, "s9"))
    after = bank.attempt(command, "")
    assert after is not None
    assert after.attempts == (before.attempts if before else 0) + 1
    assert after.outcome == ("failed" if failed else "succeeded")
    assert (after.failed_steps if failed else after.passed_steps)[-1] == 1000


@given(st.lists(operations, max_size=30))
def test_a_sentence_of_pmem_tells_the_fields_it_stands_with(ops: list[BankOp]) -> None:
    bank = bank_after(*(op for op in ops if isinstance(op, RecordAttempt)))
    for entry in bank.procedural:
        assert entry.content == describe(entry)


def test_a_bank_of_500_is_told_apart_by_its_order() -> None:
    bank = bank_after(*(SaveKnowledge(f"k{n}", str(n)) for n in range(500)))
    assert [e.content for e in bank.knowledge] == [str(n) for n in range(500)]


def test_a_sentence_of_an_earlier_version_is_pmems_own_and_written_anew() -> None:
    bank = bank_after(attempt(2))
    entry = bank.procedural[0]
    bank.put(replace(entry, content="npm test in api/: failed at step 2 (no db)."))
    bank.apply(attempt(4))
    assert bank.procedural[0].content == "npm test in api/: failed at steps 2, 4 (“no db”)."


COMMANDS = st.sampled_from(["make", "npm test", "./run"])
ANY_OP = st.one_of(
    st.builds(
        lambda command, cwd, failed, step: RecordAttempt(
            command, cwd, failed, int(failed), "no" if failed else "", "", step, "s"
        ),
        COMMANDS,
        st.sampled_from(["", "api"]),
        st.booleans(),
        st.integers(1, 9),
    ),
    st.builds(
        lambda id, command: SaveProcedural(id, f"{command} fails at step 1.", "failed"),
        st.sampled_from("ab"),
        COMMANDS,
    ),
    st.builds(SaveKnowledge, st.sampled_from(["a", "make"]), st.just("x")),
    st.builds(Delete, st.sampled_from(["a", "b", "make", "npm-test"])),
    st.builds(
        lambda id, command, source: PutEntry(
            Entry("procedural", id, "", source=source, command=command, outcome="failed")
        ),
        st.sampled_from(["a", "hand"]),
        COMMANDS,
        st.sampled_from(["", "user"]),
    ),
)


@examples(200)
@given(st.lists(ANY_OP, max_size=25))
def test_what_is_looked_up_is_what_going_through_the_whole_bank_finds(ops: list[BankOp]) -> None:
    bank = MemoryBank()
    for op in ops:
        with suppress(ValueError):  # a person's words stay theirs
            bank.apply(op)
    assert bank.copy().entries == bank.entries and bank.copy().entries is not bank.entries
    for command in ("make", "npm test", "./run"):
        for cwd in ("", "api"):
            passed = RecordAttempt(command, cwd, False, 0, "", "", 10, "s")
            about = [entry for entry in bank.copy()._about(passed) if contradicts(passed, entry)]
            whole = [entry for entry in bank.entries.values() if contradicts(passed, entry)]
            assert sorted(e.id for e in about) == sorted(e.id for e in whole)
            own = [e for e in bank.entries.values() if (e.command, e.cwd) == (command, cwd)]
            found = bank.attempt(command, cwd)
            assert (found in own) if own else (found is None)


def test_what_is_done_to_a_copy_is_not_done_to_the_bank() -> None:
    bank = bank_after(attempt(1), SaveKnowledge("a", "x"))
    bank.revision, bank.extra = 7, {"mine": 1}
    copy = bank.copy()
    copy.apply(attempt(2))
    copy.apply(Delete("a"))
    copy.extra["mine"] = 2
    assert (copy.revision, bank.extra) == (7, {"mine": 1})
    assert bank.get("a") is not None and copy.get("a") is None
    old, new = bank.attempt("npm test", "api"), copy.attempt("npm test", "api")
    assert old is not None and new is not None and (old.attempts, new.attempts) == (1, 2)
