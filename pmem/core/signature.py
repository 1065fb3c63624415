"""Signatures of shell commands: what runs, in one normal form however it was typed.

>>> normal_form('cd api  &&  timeout 60 npm   test 2>&1 | tail -20 || true')
'cd api && npm test'
>>> located('cd api && npm test', '/proj')
('npm test', '/proj/api')
>>> [c.words for c in parse("FOO=1 nohup bash -c 'make -j4; ./run' &")]
[('make', '-j4'), ('./run',)]
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from pmem.core.bash import read
from pmem.core.spelling import one_line, render
from pmem.core.syntax import (
    Block,
    Group,
    Node,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
    Unread,
    Word,
    walk,
)
from pmem.core.tidy import tidy, worth_keeping
from pmem.core.unwrap import unwrapped

#: Lines up to this many characters are kept analysed.
_CACHED = 8 * 1024


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command of a line.

    `words` is what really runs, unquoted (without `sudo`, `timeout 5`, `FOO=1`); `text` is its
    normal form with everything that matters (`sudo`, `nohup`, assignments, redirects, a final
    `&`); `redirects` are (operator, target), a here-document's target being the hash of its
    body; `cwd` is the directory an earlier `cd` of the same line led to, as written; `within` is
    the function whose body it stands in: it runs only when that is called.
    """

    words: tuple[str, ...]
    text: str
    assignments: tuple[str, ...] = ()
    redirects: tuple[tuple[str, str], ...] = ()
    cwd: str | None = None
    within: str = ""


def parse(command: str) -> tuple[Command, ...]:
    """The simple commands of a line in order, those of a `$(…)` after the one they stand in.

    Here-document bodies and the text of other languages are never commands; the script of a
    `bash -c '…'` is. Any string is fine; text that is no shell gives its words.
    """
    return _parsed(command) if len(command) <= _CACHED else tuple(_commands(read(command)))


def normal_form(command: str, cwd: str = "") -> str:
    """One canonical line of at most 1000 characters for every way to type the same command.

    Left out: comments, `2>&1` and what goes to /dev/null, a final `| tail`, `|| true`,
    `; echo …`, wrappers that only watch (`time`, `timeout 60`, `nice`), `bash -c`, and a `cd`
    to `cwd`, the directory it runs in. Here-documents and long words end in a hash.
    """
    normal, where = _located(command)
    if not where or (cwd and posixpath.normpath(posixpath.join(cwd, where)) == _clean(cwd)):
        return normal
    return one_line(f"cd {where} && {normal}")


def located(command: str, cwd: str = "") -> tuple[str, str]:
    """The normal form without its leading `cd DIR &&`, and the directory it then runs in.

    So `cd api && npm test` in /proj and `npm test` in /proj/api are one command. `cwd` and the
    result are absolute, or relative to what the caller's directories are relative to.
    """
    normal, where = _located(command)
    if not where:
        return normal, cwd
    if where.startswith("~"):
        return normal, where
    return normal, posixpath.normpath(posixpath.join(cwd, where))


def _clean(cwd: str) -> str:
    return posixpath.normpath(cwd)


def _located(command: str) -> tuple[str, str]:
    return _kept_located(command) if len(command) <= _CACHED else _locate(command)


@lru_cache(maxsize=512)
def _kept_located(command: str) -> tuple[str, str]:
    return _locate(command)


def _locate(command: str) -> tuple[str, str]:
    tree = read(command)
    if any(isinstance(part, Unread) for part in walk(tree)):
        return _as_written(command), ""
    node = tidy(unwrapped(tree))
    if isinstance(node, Group) and not node.redirects:
        node = node.body
    where, node = without_cd(node)
    normal = one_line(render(node))
    return (normal, where) if normal or not command.strip() else (_as_written(command), "")


def _as_written(command: str) -> str:
    """The text on one line, its spaces alike: for what is no shell. A comment is nothing."""
    text = command.encode("utf-8", "replace").decode().replace("\0", " ")
    return "" if text.lstrip().startswith("#") else one_line(" ".join(text.split()))


def without_cd(node: Node) -> tuple[str, Node]:
    """The directory that leading `cd`s lead to ("" for none), and what runs there."""
    where = ""
    while isinstance(node, Sequence) and len(node.items) > 1:
        first, second = node.items[:2]
        target = cd_target(first.node)
        if target is None or first.background or second.joined == "||":
            break
        where = posixpath.normpath(posixpath.join(where, target))
        node = tidy(Sequence((second, *node.items[2:])))
    return where, node


def cd_target(node: Node) -> str | None:
    """Where a plain `cd DIR` leads, None for anything else and for `cd`, `cd -`, `cd $DIR`."""
    if not isinstance(node, Simple) or node.assignments or not node.words:
        return None
    words = [word for word in node.words[1:] if word.value != "--"]
    if node.words[0].value != "cd" or len(words) != 1 or not words[0].static:
        return None
    target = words[0].value
    return None if target in ("", "-") or target.startswith("-") else target


@lru_cache(maxsize=512)
def _parsed(command: str) -> tuple[Command, ...]:
    return tuple(_commands(read(command)))


def _commands(line: Sequence) -> Iterator[Command]:
    yield from _flatten(unwrapped(line), _Place(), background=False)


class _Place:
    """The directory a line has changed to, as written; None before any `cd`."""

    def __init__(self, cwd: str | None = None) -> None:
        self.cwd = cwd

    def follow(self, simple: Simple) -> None:
        target = cd_target(simple)
        if target is not None:
            self.cwd = posixpath.normpath(posixpath.join(self.cwd or "", target))


def _flatten(node: Node, place: _Place, background: bool) -> Iterator[Command]:
    match node:
        case Simple():
            yield _command(node, place, background)
            yield from _inner([*node.assignments, *node.words], place)
            yield from _inner([r.target for r in node.redirects], place)
            place.follow(node)
        case Unread(text):
            words = tuple(text.split()[:64])
            if words:
                yield Command(words, one_line(render(node)), cwd=place.cwd)
        case Pipeline(parts):
            for part in parts:
                yield from _flatten(part, _Place(place.cwd), background)
        case Sequence(items):
            for item in items:
                yield from _flatten(item.node, place, background or item.background)
        case Group(opening, body, redirects):
            where = _Place(place.cwd) if opening == "(" else place
            yield from _flatten(body, where, background)
            yield from _redirects(redirects, place)
        case Block(keyword, pieces, redirects):
            name = _function(pieces) if keyword == "function" else ""
            for piece in pieces:
                if not isinstance(piece, str):
                    for inner in _flatten(piece, place, background):
                        yield replace(inner, within=name) if name else inner
            yield from _redirects(redirects, place)


def _function(pieces: tuple[str | Sequence, ...]) -> str:
    """The name of a function, as `f()` or `function f` begins its definition."""
    return next((p for p in pieces if isinstance(p, str) and p != "function"), "")


def _inner(words: list[Word], place: _Place) -> Iterator[Command]:
    for word in words:
        for script in word.inner:
            yield from _flatten(unwrapped(script), _Place(place.cwd), background=False)


def _redirects(redirects: tuple[Redirect, ...], place: _Place) -> Iterator[Command]:
    """The redirects of a group or block, as a command of no words."""
    if worth_keeping(Simple(redirects=redirects)).redirects:
        yield _command(Simple(redirects=redirects), place, background=False)
        yield from _inner([r.target for r in redirects], place)


def _command(simple: Simple, place: _Place, background: bool) -> Command:
    return Command(
        words=tuple(word.value for word in simple.words),
        text=one_line(render(worth_keeping(simple))) + (" &" if background else ""),
        assignments=tuple(word.value for word in simple.assignments),
        redirects=tuple((r.operator, r.target.value) for r in simple.redirects),
        cwd=place.cwd,
    )
