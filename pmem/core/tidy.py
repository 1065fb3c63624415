"""Leaves out of a line what only shows or hides its result, never what it does."""

from __future__ import annotations

import re
from dataclasses import replace

from pmem.core.data import table
from pmem.core.syntax import (
    Block,
    Group,
    Item,
    Node,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
    spliced,
)

#: Programs that change nothing and decide nothing when they stand in a list with others.
_FILLERS = frozenset({"echo", "printf", "true", ":", "set", "clear"})
#: The last part of a pipeline that shows some of it, or all.
_VIEWERS = frozenset({"head", "tail", "cat", "less", "more", "bat"})
_STATUS = re.compile(r"\w+=\$(\?|\{PIPESTATUS\[\w+\]\})\Z")
_NUMBER = re.compile(r"[+-]?\d+\Z")


def tidy(node: Node) -> Node:
    """The tree without fillers, viewers, and redirects that only show or hide.

    Something is always left: `echo hi` alone stays.
    """
    match node:
        case Simple():
            return worth_keeping(node)
        case Pipeline(parts, negated):
            kept = _without_viewers(parts)
            if len(kept) == 1 and not negated:
                return tidy(kept[0])
            return Pipeline(tuple(tidy(part) for part in kept), negated)
        case Sequence():
            return _tidy_sequence(node)
        case Group(opening, body, redirects):
            redirects = _kept(redirects)
            inner = tidy(body)
            if not redirects and (opening == "{" or not isinstance(inner, Sequence)):
                return inner
            if not isinstance(inner, Sequence):
                inner = Sequence((Item("", inner),))
            return Group(opening, inner, redirects)
        case Block(keyword, pieces, redirects):
            inside = tuple(p if isinstance(p, str) else _as_sequence(tidy(p)) for p in pieces)
            return Block(keyword, inside, _kept(redirects))
    return node


def _as_sequence(node: Node) -> Sequence:
    return node if isinstance(node, Sequence) else Sequence((Item("", node),))


def _tidy_sequence(sequence: Sequence) -> Node:
    items = sequence.items
    kept: list[Item] = []
    dropped: str | None = None
    for item in items:
        if _is_filler(item) and any(not _is_filler(other) for other in items):
            dropped = item.joined if dropped is None else dropped
            continue
        joined = item.joined
        if dropped is not None and joined == "&&":
            # A filler always succeeds: what it was joined by decides.
            joined = "&&" if dropped == "&&" else ";"
        dropped = None
        for part in spliced(joined, tidy(item.node)):
            kept.append(replace(part, background=part.background or item.background))
    if not kept:
        return sequence
    kept[0] = replace(kept[0], joined="")
    if len(kept) == 1 and not kept[0].background:
        return kept[0].node
    return Sequence(tuple(kept))


def _is_filler(item: Item) -> bool:
    simple = item.node
    if not isinstance(simple, Simple) or item.background or _kept(simple.redirects):
        return False
    if any(word.inner for word in (*simple.words, *simple.assignments)):
        return False
    if not simple.words:
        return bool(simple.assignments) and all(_STATUS.match(a.value) for a in simple.assignments)
    if simple.name == "exit":
        return item.joined == "||" or (len(simple.words) > 1 and not simple.words[1].static)
    return simple.name in _FILLERS


def _without_viewers(parts: tuple[Node, ...]) -> tuple[Node, ...]:
    while len(parts) > 1 and _is_viewer(parts[-1]):
        parts = parts[:-1]
    return parts


def _is_viewer(node: Node) -> bool:
    """`| tail -20` and its like; a file among its words makes it a command of its own."""
    if not isinstance(node, Simple) or _kept(node.redirects):
        return False
    operands = [w.value for w in node.words[1:] if not w.value.startswith("-")]
    if node.name == "tee":
        return all(is_log(path) for path in operands)
    return node.name in _VIEWERS and all(_NUMBER.match(value) for value in operands)


def worth_keeping(simple: Simple) -> Simple:
    """The command without `2>&1` and without what it sends to /dev/null."""
    kept = _kept(simple.redirects)
    return simple if len(kept) == len(simple.redirects) else replace(simple, redirects=kept)


def _kept(redirects: tuple[Redirect, ...]) -> tuple[Redirect, ...]:
    return tuple(r for r in redirects if not only_shows(r.operator, r.target.value))


def only_shows(operator: str, target: str) -> bool:
    """Whether a redirect writes no file and reads none: `2>&1`, `>/dev/null`, `</dev/null`."""
    if operator.endswith("<<"):
        return False
    return (operator.endswith(("&", ">&")) and (target.isdigit() or target == "-")) or target in (
        "/dev/null",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/tty",
    )


def is_log(path: str) -> bool:
    """Whether a file only keeps an output: below a temporary directory, or `*.log`."""
    logs = table("commands")["logs"]
    return path.endswith(tuple(logs["endings"])) or path.startswith(
        tuple(f"{directory}/" for directory in logs["directories"])
    )
