"""A shell line as a small tree of plain values: words, simple commands, pipelines, lists, groups.

`bash.read` makes it. A line that bash itself would refuse still has a tree: what could not be
read is `Unread`, the rest is there. A here-document's body is only ever a hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Word:
    """One argument.

    `value` is what the program would get, with expansions left as written; `text` is its
    canonical spelling; `static` says that no expansion is in it; `inner` holds the scripts
    of its `$(…)`.
    """

    value: str
    text: str
    static: bool = True
    inner: tuple[Sequence, ...] = ()


@dataclass(frozen=True, slots=True)
class Redirect:
    """`operator` with the file descriptor in front (`2>`, `>>`, `<`, `<<<`, `<<`).

    The target of a here-document (`<<`) is the hash of its body.
    """

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments, words and redirects; without words it only assigns or redirects.

    `prefix` is what was taken off its front because it only says how to run it (`sudo -u x`).
    """

    words: tuple[Word, ...] = ()
    assignments: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    prefix: tuple[Word, ...] = ()

    @property
    def name(self) -> str:
        """The program's name without its directory, "" if there is none."""
        return self.words[0].value.rpartition("/")[2] if self.words else ""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Two or more parts joined by `|`, or one that is negated by `!`."""

    parts: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A member of a sequence with what joins it to the one before: ``, `;`, `&&` or `||`."""

    joined: str
    node: Node
    background: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """Commands one after the other."""

    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """`(…)` or `{…;}`, `opening` being the bracket."""

    opening: str
    body: Sequence
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """`for`, `while`, `if`, `case`, a function: its own words as text, its bodies as nodes."""

    keyword: str
    pieces: tuple[str | Sequence, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Unread:
    """Text that is no shell, or is nested too deep."""

    text: str


Node = Simple | Pipeline | Sequence | Group | Block | Unread


def literal(text: str, spelt: str | None = None) -> Word:
    """A word that stands for itself."""
    return Word(text, text if spelt is None else spelt)


def short_hash(data: bytes) -> str:
    """Eight hex digits that stand for a text too long to show."""
    return hashlib.blake2s(data, digest_size=4).hexdigest()


def walk(node: Node) -> Iterator[Simple | Unread]:
    """The simple commands of a tree in order; `$(…)` after the command it stands in."""
    match node:
        case Simple():
            yield node
            yield from scripts(node)
        case Unread():
            yield node
        case Pipeline(parts):
            for part in parts:
                yield from walk(part)
        case Sequence(items):
            for item in items:
                yield from walk(item.node)
        case Group(_, body, redirects):
            yield from walk(body)
            yield from _inner(r.target for r in redirects)
        case Block(_, pieces, redirects):
            for piece in pieces:
                if not isinstance(piece, str):
                    yield from walk(piece)
            yield from _inner(r.target for r in redirects)


def scripts(simple: Simple) -> Iterator[Simple | Unread]:
    """The commands inside the `$(…)` of one simple command."""
    yield from _inner(simple.assignments)
    yield from _inner(simple.words)
    yield from _inner(r.target for r in simple.redirects)


def _inner(words: Iterable[Word]) -> Iterator[Simple | Unread]:
    for word in words:
        for script in word.inner:
            yield from walk(script)


def redirected(node: Node, redirects: tuple[Redirect, ...]) -> Node:
    """The node with redirects added where bash applies them: to the last command."""
    if not redirects:
        return node
    match node:
        case Simple() | Group() | Block():
            return replace(node, redirects=(*node.redirects, *redirects))
        case Pipeline(parts):
            return replace(node, parts=(*parts[:-1], redirected(parts[-1], redirects)))
        case Sequence(items) if items:
            last = replace(items[-1], node=redirected(items[-1].node, redirects))
            return Sequence((*items[:-1], last))
    return node


def spliced(joined: str, node: Node) -> Iterator[Item]:
    """A node as items of the sequence around it; an inner list is no level of its own."""
    if isinstance(node, Sequence):
        for number, item in enumerate(node.items):
            yield replace(item, joined=joined) if number == 0 else item
    else:
        yield Item(joined, node)


def in_background(items: list[Item]) -> list[Item]:
    """`a; b && c &`: the whole list since the last `;` goes to the background."""
    start = len(items) - 1
    while start > 0 and items[start].joined in ("&&", "||"):
        start -= 1
    if start == len(items) - 1:
        return [*items[:-1], replace(items[-1], background=True)]
    inner = Sequence((replace(items[start], joined=""), *items[start + 1 :]))
    return [*items[:start], Item(items[start].joined, inner, background=True)]
