"""Marks are found however the stream is cut, and nothing else is touched."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pmem.terminal.marks import MAX_MARK, Mark, MarkParser, unescape

NONCE = "0123456789abcdef"
START = b"\x1b]6973;" + NONCE.encode() + b";"


def mark(*fields: bytes) -> bytes:
    return START + b";".join(fields) + b"\x07"


def parse(*chunks: bytes) -> list[bytes | Mark]:
    """Pieces with neighbouring bytes joined."""
    parser = MarkParser(NONCE)
    joined: list[bytes | Mark] = []
    for piece in [p for chunk in chunks for p in parser.feed(chunk)] + [parser.rest()]:
        if isinstance(piece, bytes) and joined and isinstance(joined[-1], bytes):
            joined[-1] += piece
        elif piece:
            joined.append(piece)
    return joined


def test_a_mark_is_taken_out_and_read() -> None:
    stream = b"before" + mark(b"42", b"C", b"7", b"/tmp", b"echo %25 %3B") + b"after"
    assert parse(stream) == [b"before", Mark("42", "C", ("7", "/tmp", "echo % ;")), b"after"]


def test_a_forged_mark_is_no_mark_and_passes_as_it_is() -> None:
    forged = b"a\x1b]6973;fedcba9876543210;42;C;1;/;rm\x07b\x1b]6973;;42;A\x07"
    assert parse(forged) == [forged]


def test_foreign_sequences_pass_untouched() -> None:
    foreign = b"\x1b]133;A\x07\x1b]633;C\x1b\\\x1b]0;title\x07\x1b[1m\x1b]6973"
    assert parse(foreign) == [foreign]


def test_a_mark_without_fields_or_sense_is_dropped_and_one_without_end_passes() -> None:
    assert parse(b"a" + mark(b"x") + b"b") == [b"ab"]
    endless = START + b"1;C;" + b"x" * (MAX_MARK + 10)
    assert parse(endless) == [endless]
    assert parse(endless + mark(b"1", b"A")) == [endless, Mark("1", "A")]


def test_only_the_beginning_of_a_mark_is_held_back() -> None:
    parser = MarkParser(NONCE)
    assert parser.feed(b"text\x1b]69") == [b"text"]
    assert parser.feed(b"72;") == [b"\x1b]6972;"]
    assert parser.feed(b"\x1b") == []
    assert parser.feed(b"[A") == [b"\x1b[A"]
    assert parser.feed(b"x" + START) == [b"x"]
    assert parser.rest() == START


pieces = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [
                mark(b"1", b"A"),
                mark(b"1", b"C", b"3", b"/a", b"ls%0Ax"),
                b"\x1b]6973;fedcba9876543210;1;A\x07",
                b"\x1b]133;A\x07",
                START,
                START[:9],
                b"\x1b",
                b"\x07",
                b"\x1b\x1b]6973;",
            ]
        ),
    ),
    max_size=12,
)


@given(pieces, st.data())
def test_the_pieces_are_the_same_wherever_the_stream_is_cut(
    parts: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(parts)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(edges)]
    assert parse(*chunks) == parse(stream)
    assert parse(*(stream[n : n + 1] for n in range(len(stream)))) == parse(stream)


@given(st.binary(max_size=300))
def test_a_stream_without_our_nonce_passes_byte_for_byte(stream: bytes) -> None:
    if START not in stream:
        assert b"".join(p for p in parse(stream) if isinstance(p, bytes)) == stream


@given(st.text())
def test_an_escaped_field_is_read_back(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    escaped = b"".join(b"%%%02X" % byte for byte in raw)
    assert unescape(escaped).encode("utf-8", "surrogateescape") == raw


def test_what_only_looks_like_an_escape_stays() -> None:
    assert unescape(b"100% %zz %4") == "100% %zz %4"
