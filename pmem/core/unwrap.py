"""What really runs: `sudo`, `timeout 60`, `env A=b`, `bash -c '…'` and their like taken off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from pmem.core.bash import read
from pmem.core.data import table
from pmem.core.syntax import (
    Block,
    Group,
    Node,
    Pipeline,
    Sequence,
    Simple,
    Word,
    redirected,
    spliced,
)

#: How many `bash -c` inside each other are followed.
MAX_SHELLS = 4


def unwrapped(node: Node, shells: int = MAX_SHELLS) -> Node:
    """The tree with every wrapper taken off and the script of every `bash -c` in its place.

    What changes how a command runs (`sudo`, `nohup`) is left as its `prefix`; `env A=b` turns
    into an assignment. `bash -c` with further arguments stays, its script as an inner one.
    """
    match node:
        case Simple():
            return _simple(node, shells)
        case Pipeline(parts, negated):
            return Pipeline(tuple(unwrapped(part, shells) for part in parts), negated)
        case Sequence():
            return _sequence(node, shells)
        case Group(opening, body, redirects):
            return Group(opening, _sequence(body, shells), redirects)
        case Block(keyword, pieces, redirects):
            inner = tuple(p if isinstance(p, str) else _sequence(p, shells) for p in pieces)
            return Block(keyword, inner, redirects)
    return node


def _sequence(sequence: Sequence, shells: int) -> Sequence:
    return Sequence(
        tuple(replace(item, node=unwrapped(item.node, shells)) for item in sequence.items)
    )


def _simple(simple: Simple, shells: int) -> Node:
    simple = _without_wrappers(simple)
    if shells <= 0 or not simple.words:
        return simple
    if simple.name == "eval" and len(simple.words) > 1 and all(w.static for w in simple.words):
        script = " ".join(word.value for word in simple.words[1:])
        return _in_place(simple, unwrapped(read(script), shells - 1))
    at = _script_at(simple)
    if at is None:
        return simple
    inner = unwrapped(read(simple.words[at].value), shells - 1)
    if at == len(simple.words) - 1:
        return _in_place(simple, inner)
    sequence = inner if isinstance(inner, Sequence) else Sequence(tuple(spliced("", inner)))
    word = replace(simple.words[at], inner=(sequence,))
    return replace(simple, words=(*simple.words[:at], word, *simple.words[at + 1 :]))


def _in_place(outer: Simple, script: Node) -> Node:
    """The script where its shell stood, with the shell's redirects, assignments and prefix."""
    script = _passed_on(script, outer)
    if isinstance(script, Sequence) and len(script.items) == 1 and not script.items[0].background:
        return redirected(script.items[0].node, outer.redirects)
    if not isinstance(script, Sequence):
        return redirected(script, outer.redirects)
    return Group("(", script, outer.redirects)


def _passed_on(node: Node, outer: Simple) -> Node:
    if not outer.prefix and not outer.assignments:
        return node
    match node:
        case Simple(_, assignments, _, prefix):
            return replace(
                node,
                assignments=(*outer.assignments, *assignments),
                prefix=(*outer.prefix, *prefix),
            )
        case Pipeline(parts):
            return replace(node, parts=tuple(_passed_on(part, outer) for part in parts))
        case Sequence(items):
            return Sequence(tuple(replace(i, node=_passed_on(i.node, outer)) for i in items))
        case Group(_, body):
            inner = _passed_on(body, outer)
            return replace(node, body=inner) if isinstance(inner, Sequence) else node
    return node


def _without_wrappers(simple: Simple) -> Simple:
    prefix = list(simple.prefix)
    assignments = list(simple.assignments)
    words = simple.words
    while words:
        wrapper = _wrappers().get(words[0].value.rpartition("/")[2])
        end = _end_of(words, wrapper) if wrapper is not None else None
        if wrapper is None or end is None:
            break
        assignments.extend(word for word in words[1:end] if _is_assignment(word))
        if wrapper.get("kept"):
            prefix.extend(word for word in words[:end] if not _is_assignment(word))
        words = words[end:]
    if len(words) == len(simple.words):
        return simple
    return replace(simple, words=words, assignments=tuple(assignments), prefix=tuple(prefix))


def _end_of(words: tuple[Word, ...], wrapper: Mapping[str, Any]) -> int | None:
    """Where the wrapped program stands, None if there is none."""
    valued = wrapper.get("valued", ())
    other = wrapper.get("not", ())
    at = 1
    while at < len(words):
        value = words[at].value
        if value in other:
            return None
        if value == "--":
            at += 1
            break
        if value.startswith("-") and len(value) > 1:
            at += 2 if value in valued else 1
        elif _is_assignment(words[at]):
            at += 1
        else:
            break
    at += wrapper.get("skip", 0)
    return at if at < len(words) else None


def _is_assignment(word: Word) -> bool:
    name, equals, _ = word.value.partition("=")
    return bool(equals) and name.isidentifier()


def _script_at(simple: Simple) -> int | None:
    """The index of the script in `bash -lc SCRIPT …`, None for any other command."""
    words = simple.words
    if simple.name not in _shells():
        return None
    at = 1
    if simple.name == "busybox":
        if len(words) < 2 or words[1].value not in _shells():
            return None
        at = 2
    while at < len(words):
        value = words[at].value
        if not value.startswith(("-", "+")) or len(value) < 2:
            return None
        if value.startswith("--"):
            at += 2 if value in ("--rcfile", "--init-file") else 1
        elif value[0] == "-" and "c" in value:
            at += 2 if value.endswith("o") else 1
            return at if at < len(words) else None
        else:
            at += 2 if value.endswith(("o", "O")) else 1
    return None


@cache
def _wrappers() -> dict[str, dict[str, Any]]:
    wrappers: dict[str, dict[str, Any]] = table("commands")["wrappers"]
    return wrappers


@cache
def _shells() -> frozenset[str]:
    return frozenset(table("commands")["shells"]["names"])
