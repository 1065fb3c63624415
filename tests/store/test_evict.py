"""What leaves a full bank: plain successes first, a person's words and constraints last."""

from __future__ import annotations

from dataclasses import replace

from pmem.core.bank import Entry, MemoryBank, RecordAttempt, SaveKnowledge, describe
from pmem.store.evict import evict


def attempt(command: str, *, failed: bool, step: int = 1, session: str = "a") -> RecordAttempt:
    return RecordAttempt(
        command, "", failed, int(failed), "no" if failed else "", "", step, session
    )


def mixed() -> MemoryBank:
    bank = MemoryBank()
    bank.apply(SaveKnowledge("rule", "never force-push", ("constraint",)))
    bank.apply(SaveKnowledge("word", "use pnpm", source="user"))
    bank.put(Entry("knowledge", "watched", "x", when={"command": "npm *"}))
    bank.apply(attempt("remedy", failed=True))
    bank.apply(attempt("remedy", failed=False, step=2))
    bank.apply(SaveKnowledge("fact", "the port is 8080; see cited-by-a-fact"))
    bank.apply(attempt("refined", failed=False))
    bank.put(replace(bank.entries["refined"], content="passes only with -j1"))
    bank.apply(attempt("cited", failed=False))
    bank.apply(attempt("cited-by-a-fact", failed=False))
    bank.apply(attempt("old-failure", failed=True))
    bank.apply(attempt("new-failure", failed=True, step=9))
    bank.apply(attempt("late-success", failed=False, step=7))
    bank.apply(attempt("early-success", failed=False, step=2, session="b"))
    bank.apply(attempt("earliest-success", failed=False, step=3))
    return bank


def test_the_order_in_which_entries_leave() -> None:
    bank = mixed()
    left = [entry.id for entry, _ in evict(bank, 0, cited={"cited"})]
    assert left[:5] == [
        "earliest-success",
        "late-success",
        "early-success",
        "old-failure",
        "new-failure",
    ]
    assert set(left[5:9]) == {"fact", "refined", "cited", "cited-by-a-fact"}
    assert left[9] == "remedy"
    assert set(left[10:]) == {"rule", "word", "watched"}


def test_only_the_surplus_leaves_and_is_told_why() -> None:
    bank = mixed()
    total = len(bank.entries)
    ((entry, reason),) = evict(bank, total - 1, cited={"cited"})
    assert (entry.id, reason) == ("earliest-success", "plain success")
    assert len(bank.entries) == total - 1
    assert bank.attempt("earliest-success", "") is None


def test_a_bank_with_room_keeps_everything() -> None:
    bank = mixed()
    assert evict(bank, 500) == []


def test_an_entry_pmem_wrote_does_not_cite_others_by_its_own_words() -> None:
    bank = MemoryBank()
    bank.apply(attempt("make", failed=False))
    bank.apply(attempt("make all", failed=True))
    assert "make" in describe(bank.entries["make-all"])
    assert evict(bank, 1)[0][0].id == "make"
