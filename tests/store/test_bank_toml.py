"""The bank as text: one layout, every string round-trips, nothing a person wrote is lost."""

from __future__ import annotations

import datetime
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmem.core.bank import Entry, MemoryBank, RecordAttempt, SaveKnowledge, normal_id
from pmem.store.bank_file import BankFile
from pmem.store.bank_toml import BankError, Blocks, NewerSchema, dumps, loads
from pmem.store.project import Project, ensure
from pmem.store.tidy import MAX_CONTENT, MAX_OUTPUT, tidy_entry, tidy_op

EXAMPLE = '''\
# pmem memory bank. Edit freely; pmem reads it again before it writes.
# For remarks use note = "…" (comments are not kept).
schema = 1

[status]
content = "Tests are red; the schema is not migrated yet."

[[knowledge]]
id = "no-force-push"
content = "AGENTS.md:14 says: never force-push."
tags = ["constraint"]
source = "AGENTS.md:14"
when = { command = "git push *--force*" }

[[procedural]]
id = "make-test"
content = "make test in api/: failed at steps 3, 5 (“no rule”)."
outcome = "failed"
command = "make test"
cwd = "api"
attempts = 2
exit_code = 2
failure = "no rule"
output = """
make: *** No rule to make target 'test'.
make: *** "Stop" with C:\\\\dir
"""
first_step = 3
last_step = 5
failed_steps = [3, 5]
session = "20260102-101112-claude"
source = "step 3 of 20260102-101112-claude"
'''


def bank() -> MemoryBank:
    bank = MemoryBank("Tests are red; the schema is not migrated yet.")
    for step in (3, 5):
        bank.apply(
            RecordAttempt(
                command="make test",
                cwd="api",
                failed=True,
                exit_code=2,
                failure="no rule",
                output="make: *** No rule to make target 'test'.\n"
                'make: *** "Stop" with C:\\dir\n',
                step=step,
                session="20260102-101112-claude",
            )
        )
    bank.put(
        Entry(
            "knowledge",
            "no-force-push",
            "AGENTS.md:14 says: never force-push.",
            tags=("constraint",),
            source="AGENTS.md:14",
            when={"command": "git push *--force*"},
        )
    )
    return bank


def same(a: MemoryBank, b: MemoryBank) -> bool:
    return (a.status, a.entries, a.extra) == (b.status, b.entries, b.extra)


def test_the_layout_is_the_documented_one() -> None:
    assert dumps(bank()) == EXAMPLE


def test_a_bank_read_and_written_again_is_byte_identical() -> None:
    assert dumps(loads(EXAMPLE)) == EXAMPLE


def test_an_empty_bank_round_trips() -> None:
    assert same(loads(dumps(MemoryBank())), MemoryBank())


def test_an_empty_text_is_an_empty_bank() -> None:
    assert same(loads(""), MemoryBank())


# -- every string, every value --------------------------------------------------------------

nasty = st.sampled_from(
    [
        *"\"\\\r\n\t \x00\x07\x1b\x7f\u0085\u2028\ud800\udfff\ufeff#[]='",
        "[[knowledge]]",
        '"""',
        "가",
        "🙂",
    ]
)
text = st.lists(nasty | st.characters(), max_size=30).map("".join)
ids = text.filter(lambda t: any(c.isalnum() for c in t)).map(normal_id)
toml_value = st.recursive(
    text
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.datetimes(timezones=st.just(datetime.UTC)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
steps = st.lists(st.integers(0, 10**6), max_size=8).map(tuple)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    own = set(Entry.__dataclass_fields__)
    return tidy_entry(
        Entry(
            draw(st.sampled_from(["knowledge", "procedural"])),
            draw(ids),
            draw(text.filter(lambda t: tidy_entry(Entry("knowledge", "x", t)).content)),
            tags=draw(st.lists(text, max_size=3).map(tuple)),
            source=draw(text),
            when=draw(st.none() | st.dictionaries(text, toml_value, max_size=3)),
            note=draw(text),
            outcome=draw(st.sampled_from(["", "failed", "succeeded", "diagnosis"])),
            command=draw(text),
            cwd=draw(text),
            attempts=draw(st.integers(0, 1000)),
            exit_code=draw(st.none() | st.integers(-300, 300)),
            failure=draw(text),
            output=draw(text),
            first_step=draw(st.none() | st.integers(0, 10**6)),
            last_step=draw(st.none() | st.integers(0, 10**6)),
            failed_steps=draw(steps),
            passed_steps=draw(steps),
            session=draw(text),
            extra=draw(
                st.dictionaries(text.filter(lambda k: k not in own), toml_value, max_size=2)
            ),
        )
    )


@st.composite
def banks(draw: st.DrawFn) -> MemoryBank:
    made = MemoryBank(draw(text), draw(st.lists(entries(), max_size=5)))
    known = ("schema", "status", "knowledge", "procedural")
    extra = st.dictionaries(text.filter(lambda k: k not in known), toml_value, max_size=3)
    made.extra.update(draw(extra))
    return made


@given(banks())
def test_what_is_written_is_what_is_read(given_bank: MemoryBank) -> None:
    once = loads(dumps(given_bank))
    assert once.entries == given_bank.entries
    assert same(loads(dumps(once)), once)
    assert dumps(once) == dumps(loads(dumps(once)))
    dumps(once).encode()
    known: Blocks = {}
    assert same(loads(dumps(once), known=known), once)
    assert same(loads(dumps(once), known=known), once)


@given(text, text)
def test_memory_and_file_agree_on_any_saved_text(content: str, output: str) -> None:
    made = MemoryBank()
    made.apply(tidy_op(SaveKnowledge("k", "x" + content, (output,), source=content)))
    made.apply(tidy_op(RecordAttempt("make", content, True, 1, content, output, 1, "s")))
    assert loads(dumps(made)).entries == made.entries


def test_crlf_surrogates_and_nul_become_plain_text() -> None:
    made = MemoryBank()
    made.apply(tidy_op(SaveKnowledge("k", "a\r\nb\rc\ud800d\x00e")))
    assert made.entries["k"].content == "a\nb\nc\ufffdd\u2400e"


def test_a_content_of_a_megabyte_is_cut_with_a_mark_that_says_how_much() -> None:
    made = MemoryBank()
    made.apply(tidy_op(SaveKnowledge("k", "x" * 1_000_000)))
    made.apply(tidy_op(RecordAttempt("make", "", True, 1, "", "y" * 1_000_000 + "END", 1, "s")))
    knowledge, attempt = made.entries.values()
    assert len(knowledge.content) <= MAX_CONTENT and "of 1000000 characters" in knowledge.content
    assert len(attempt.output) <= MAX_OUTPUT + 1 and attempt.output.endswith("yEND\n")
    assert tidy_entry(knowledge) == knowledge


def test_long_commands_that_differ_at_their_end_stay_two_entries() -> None:
    made = MemoryBank()
    for end in "ab":
        made.apply(tidy_op(RecordAttempt("echo " + "x" * 9000 + end, "", False, 0, "", "", 1, "s")))
    assert len(made.entries) == 2


@pytest.mark.parametrize(
    "edited",
    [
        EXAMPLE,
        EXAMPLE + "\n[plugin]\nx = 1\n",
        EXAMPLE.replace('"no rule"', '"""\n[[knowledge]]\nid = 1\n"""'),
        EXAMPLE.replace("[[procedural]]", "[knowledge.extra]\nx = 1\n\n[[procedural]]"),
        EXAMPLE.replace("[[procedural]]", "[plugin]\nx = 1\n\n[[procedural]]"),
        EXAMPLE + '\n[[knowledge]]\nid = "no-force-push"\ncontent = "twice"\n',
        EXAMPLE + EXAMPLE[EXAMPLE.index("[[knowledge]]") :],
        EXAMPLE.replace("[status]", "[[knowledge]]\ncontent = 3\n\n[status]"),
    ],
)
def test_a_text_read_block_by_block_says_what_the_whole_says(edited: str) -> None:
    known: Blocks = {}
    for _ in range(2):
        said: list[str] = []
        said_of_blocks: list[str] = []
        assert same(loads(edited, said), loads(edited, said_of_blocks, known))
        assert said == said_of_blocks


def test_what_is_no_bank_as_a_whole_is_none_block_by_block() -> None:
    known: Blocks = {}
    loads(EXAMPLE, known=known)
    with pytest.raises(BankError):
        loads(EXAMPLE + "\n[status]\nx = 1\n", known=known)


# -- hand-edited files ------------------------------------------------------------------------


def test_unknown_keys_stay_where_they_were() -> None:
    edited = (
        'schema = 1\nowner = "team"\n\n[status]\ncontent = ""\nmood = 3\n\n'
        '[[knowledge]]\nid = "a"\ncontent = "b"\nseen = 2026-01-02\nlinks = [{ to = "c" }]\n\n'
        "[plugin]\nx = 1\n"
    )
    again = tomllib.loads(dumps(loads(edited)))
    assert again == tomllib.loads(edited)


def test_other_layouts_of_the_same_bank_are_read() -> None:
    edited = (
        "\ufeffknowledge = [{ id = 'One Thing', content = '''x\ny''' }]\r\n"
        "procedural = []\r\nstatus = 'fine'\r\n"
    )
    read = loads(edited)
    assert read.status == "fine"
    assert read.entries["one-thing"].content == "x\ny"


def test_an_entry_without_an_id_gets_one_from_its_words() -> None:
    assert list(loads('[[knowledge]]\ncontent = "포트는 8080"\n').entries) == ["포트는-8080"]


def test_an_entry_of_the_wrong_type_stays_in_the_file_and_is_told() -> None:
    edited = (
        '[[knowledge]]\nid = "good"\ncontent = "x"\n\n'
        '[[knowledge]]\nid = "bad"\ncontent = 5\ntags = ["t"]\n\n'
        '[[procedural]]\nid = "worse"\ncommand = "ls"\nattempts = "many"\n'
    )
    said: list[str] = []
    read = loads(edited, said)
    assert list(read.entries) == ["good"]
    assert len(said) == 2 and "bad: content must be a string" in said[0]
    again = tomllib.loads(dumps(read))
    assert again["knowledge"][1] == {"id": "bad", "content": 5, "tags": ["t"]}
    assert again["procedural"] == [{"id": "worse", "command": "ls", "attempts": "many"}]
    assert dumps(loads(dumps(read))) == dumps(read)


def test_an_id_that_stands_twice_is_kept_under_a_number() -> None:
    said: list[str] = []
    read = loads('[[knowledge]]\nid="a"\ncontent="1"\n[[procedural]]\nid="a"\ncontent="2"\n', said)
    assert {id: e.content for id, e in read.entries.items()} == {"a": "1", "a-2": "2"}
    assert "twice" in said[0]


def test_a_bad_watch_is_kept_and_told() -> None:
    said: list[str] = []
    text = '[[knowledge]]\nid = "a"\ncontent = "b"\nwhen = { comand = "git push*" }\n'
    read = loads(text, said)
    assert read.entries["a"].when == {"comand": "git push*"}
    assert said and "the watch of a" in said[0]
    assert 'when = { comand = "git push*" }' in dumps(read)


def test_a_newer_schema_is_refused() -> None:
    with pytest.raises(NewerSchema, match="schema 2"):
        loads("schema = 2\nanything = 1\n")


@pytest.mark.parametrize(
    "broken",
    ["[status", "schema = 'x'", "knowledge = 3", "status = 3", "a = 1\na = 2", "x = " + "[" * 5000],
)
def test_a_text_that_is_no_bank_says_why(broken: str) -> None:
    with pytest.raises(BankError) as error:
        loads(broken)
    assert str(error.value)


# --- schema -----------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["", "schema = 0\n"])
def test_an_older_bank_is_brought_up_with_a_backup(project: Project, head: str) -> None:
    old = f'{head}# my remark\n[[knowledge]]\nid = "a"\ncontent = "A fact."\n'
    ensure(project)
    project.bank.write_text(old)
    bank = BankFile(project)
    bank.apply([SaveKnowledge("b", "Another.")])
    assert bank.close()
    assert tomllib.loads(project.bank.read_text())["schema"] == 1
    assert [e["id"] for e in tomllib.loads(project.bank.read_text())["knowledge"]] == ["a", "b"]
    kept = project.dir / "bank.toml.schema-0"
    assert kept.read_text() == old
    assert any("kept as bank.toml.schema-0" in note for note in bank.notes)
    again = BankFile(project)
    again.apply([SaveKnowledge("c", "A third.")])
    assert again.close()
    assert (kept.read_text(), again.notes) == (old, [])


def test_looking_at_an_older_bank_writes_nothing(project: Project) -> None:
    ensure(project)
    project.bank.write_text('[[knowledge]]\nid = "a"\ncontent = "A fact."\n')
    before = {p.name for p in project.dir.iterdir()}
    assert BankFile(project).close()
    assert {p.name for p in project.dir.iterdir()} == before


def test_files_and_stale_are_written_and_read() -> None:
    entry = Entry(
        "knowledge", "a", "x", files={"src/a b.py": "12ab", "AGENTS.md:3": "cd"}, stale="y"
    )
    again = loads(dumps(MemoryBank("", [entry]))).entries["a"]
    assert again == entry
