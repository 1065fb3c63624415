"""One spelling for every way to write the same shell text: quoting, spacing, here-documents.

What is too long to read, or has several lines, is cut and closed with a hash of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pmem.core import syntax
from pmem.core.syntax import Block, Group, Node, Pipeline, Redirect, Simple, Unread, Word

#: Characters of a word or a whole line that are spelt out.
MAX_WORD = 160
MAX_LINE = 1000
_KEPT_OF_WORD = 60

_BARE = re.compile(r"[\w@%+=:,./^-][\w@%+=:,./^~-]*\Z")
_KEY = re.compile(r"(-{0,2}[A-Za-z_][\w.-]*\+?=)(.+)", re.DOTALL)
_NAMED = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})\Z")
_SPECIAL = re.compile(r"^~|[*?\[\]{}!]")
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\([\n"\\$`])')
_ESCAPED_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))",
    re.DOTALL,
)
_ANSI = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b",
    "f": "\f", "v": "\v",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a word as it is written: plain, quoted, raw, ansi, expansion or script."""

    text: str
    quoting: str
    inner: tuple[syntax.Sequence, ...] = ()


def spell(fragments: Sequence[Fragment]) -> Word:
    """The word that the fragments make, in its one spelling."""
    if len(fragments) == 1 and fragments[0].quoting == "plain":
        text = fragments[0].text
        if len(text) <= MAX_WORD and _BARE.match(text):
            return Word(text, text)
    pieces = list(_pieces([f for f in fragments if f.text]))
    value = "".join(text for text, _ in pieces)
    inner = tuple(script for fragment in fragments for script in fragment.inner)
    static = all(kind != "expansion" for _, kind in pieces)
    if len(value) > MAX_WORD or "\n" in value:
        spelling = _shortened(value)
    elif static and all(kind == "literal" for _, kind in pieces):
        spelling = quote(value)
    else:
        spelling = _mixed(pieces)
    return Word(value, spelling, static, inner)


def _pieces(fragments: Sequence[Fragment]) -> Iterator[tuple[str, str]]:
    """(text, kind) with kind literal, special (a glob as written) or expansion."""
    for number, (text, quoting, inner) in enumerate(
        (f.text, f.quoting, f.inner) for f in fragments
    ):
        if quoting == "raw":
            yield text, "literal"
        elif quoting == "quoted":
            yield _ESCAPED_IN_QUOTES.sub(lambda m: m[1].strip("\n"), text), "literal"
        elif quoting == "ansi":
            yield _ESCAPED_ANSI.sub(_ansi, text), "literal"
        elif quoting == "script":
            yield f"{text}{render(inner[0])})", "expansion"
        elif quoting == "expansion":
            named = _NAMED.match(text)
            after = fragments[number + 1].text[:1] if number + 1 < len(fragments) else ""
            if named:
                name = named[1] or named[2]
                text = f"${{{name}}}" if after.isalnum() or after == "_" else f"${name}"
            yield text, "expansion"
        else:
            at = 0
            for escape in _ESCAPED.finditer(text):
                yield from _plain(text[at : escape.start()])
                yield escape[1].strip("\n"), "literal"
                at = escape.end()
            yield from _plain(text[at:])


def _plain(text: str) -> Iterator[tuple[str, str]]:
    if text:
        yield text, "special" if _SPECIAL.search(text) else "literal"


def _ansi(match: re.Match[str]) -> str:
    for digits, base in zip(match.groups()[:4], (16, 16, 16, 8), strict=True):
        if digits:
            code = int(digits, base)
            return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"
    return _ANSI.get(match[5], match[5])


def _mixed(pieces: list[tuple[str, str]]) -> str:
    special = any(kind == "special" for _, kind in pieces)
    bare = all(kind != "literal" or not text or _BARE.match(text) for text, kind in pieces)
    if special or bare:
        return "".join(quote(t) if kind == "literal" and t else t for t, kind in pieces)
    escaped = (
        re.sub(r'([\\"$`])', r"\\\1", text) if kind == "literal" else text for text, kind in pieces
    )
    return '"' + "".join(escaped) + '"'


def quote(value: str) -> str:
    """A literal value as one shell word; `--key=` stays outside the quotes."""
    if _BARE.match(value):
        return value
    key = _KEY.match(value)
    if key:
        return key[1] + quote(key[2])
    if "'" not in value:
        return f"'{value}'"
    if not re.search(r'[\\"$`!]', value):
        return f'"{value}"'
    return "'" + value.replace("'", "'\\''") + "'"


def _shortened(value: str) -> str:
    """The first line's beginning, and a hash of all."""
    first = value.strip().partition("\n")[0][:_KEPT_OF_WORD].rstrip()
    return quote(f"{first}…{syntax.short_hash(value.encode('utf-8', 'replace'))}")


def render(node: Node) -> str:
    """A tree on one line."""
    match node:
        case Simple(words, assignments, redirects, prefix):
            spelt = [w.text for w in (*assignments, *prefix, *words)]
            return " ".join([*spelt, *map(_redirect, redirects)])
        case Unread(text):
            return " ".join(text.split()).rstrip("; ")
        case Pipeline(parts, negated):
            return ("! " if negated else "") + " | ".join(map(render, parts))
        case syntax.Sequence(items):
            line = ""
            for item in items:
                joint = item.joined
                if line:
                    line += " " if line.endswith("&") else "; " if joint == ";" else f" {joint} "
                line += render(item.node) + (" &" if item.background else "")
            return line
        case Group(opening, body, redirects):
            inner = f"({render(body)})" if opening == "(" else f"{{ {render(body)}; }}"
            return " ".join([inner, *map(_redirect, redirects)])
        case Block(_, pieces, redirects):
            spelt = [p if isinstance(p, str) else render(p) + ";" for p in pieces]
            return " ".join([*spelt, *map(_redirect, redirects)])


def _redirect(redirect: Redirect) -> str:
    glued = redirect.operator.endswith(("&", "<<")) and not redirect.operator.endswith("<<<")
    return f"{redirect.operator}{'' if glued else ' '}{redirect.target.text}"


def one_line(line: str) -> str:
    """A rendered line within MAX_LINE characters, closed with a hash where it is cut."""
    line = line.replace("\n", " ")
    if len(line) <= MAX_LINE:
        return line
    return f"{line[: MAX_LINE - 9].rstrip()}…{syntax.short_hash(line.encode('utf-8', 'replace'))}"
