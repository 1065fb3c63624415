"""What the end of a shell line says about each of its commands.

An exit code is that of the last command that ran. Whatever stands before a `;`, a `|` or a
`||` can have failed behind a 0, and a 1 of `grep` or `diff` is an answer, no failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pmem.core.data import table
from pmem.core.effect import Effect, program_effect
from pmem.core.syntax import Block, Group, Item, Node, Pipeline, Sequence, Simple, Unread, walk

#: Ended by the person (Ctrl-C), or by a reader that had enough (`| head`).
_ENDED_BY_OTHERS = frozenset({130, 141})
_FILLERS = frozenset({"echo", "printf", "true", ":", "set", "exit", "return"})
#: Where these do not get, what comes after them is off the track.
_REACHING = frozenset({"cd", "curl", "wget"})


@dataclass(frozen=True, slots=True)
class Report:
    """An `echo "exit $?"`: what it prints, and the node whose exit code it tells.

    `code` is None where the line says so by being printed at all: `|| echo FAILED`.
    """

    prints: re.Pattern[str]
    subject: Node
    tells_code: bool


def works(simple: Simple | Unread) -> bool:
    """Whether a command does something that can fail in a way that matters.

    Reads do not, nor does cleaning up (`rm -f`, `pkill`), nor what only prints a text.
    """
    if isinstance(simple, Unread):
        return True
    if not simple.words or simple.name in _FILLERS or simple.name in _cleanup():
        return False
    return program_effect(values(simple)) is not Effect.READS


def values(simple: Simple) -> tuple[str, ...]:
    """The words of a command."""
    return tuple(word.value for word in simple.words)


def hidden(node: Node) -> Iterator[Simple | Unread]:
    """The working commands whose failure an exit code 0 of the whole does not exclude."""
    stops, pipes = _strictness(node)
    yield from filter(works, _hidden(node, stops, pipes))


def proves_all(node: Node) -> bool:
    """Whether an exit code 0 leaves no doubt about any command, so that no output need be read."""
    stops, pipes = _strictness(node)
    unproven = (
        simple
        for simple in _hidden(node, stops, pipes)
        if works(simple) or (isinstance(simple, Simple) and simple.name in _REACHING)
    )
    return next(unproven, None) is None and next(reports(node), None) is None


def _strictness(node: Node) -> tuple[bool, bool]:
    """Whether the line sets -e and pipefail."""
    stops = pipes = False
    for simple in walk(node):
        if isinstance(simple, Simple) and simple.name == "set":
            options = values(simple)[1:]
            pipes = pipes or "pipefail" in options
            stops = stops or any(re.fullmatch(r"-[a-z]*e[a-z]*", option) for option in options)
    return stops, pipes


def _hidden(node: Node, stops: bool, pipes: bool) -> Iterator[Simple | Unread]:
    match node:
        case Simple():
            rest = walk(node)
            next(rest)
            yield from rest
        case Pipeline(parts, negated):
            proven = () if negated else parts if pipes else parts[-1:]
            for part in parts[: len(parts) - len(proven)]:
                yield from walk(part)
            for part in proven:
                yield from _hidden(part, stops, pipes)
        case Sequence(items):
            proven_from = _proven_from(items, stops)
            for number, item in enumerate(items):
                if number < proven_from or item.background:
                    yield from walk(item.node)
                else:
                    yield from _hidden(item.node, stops, pipes)
        case Group(_, body):
            yield from _hidden(body, stops, pipes)
        case Block() | Unread():
            yield from walk(node)


def _proven_from(items: tuple[Item, ...], stops: bool) -> int:
    """The first item that must have succeeded if the whole ended with 0."""
    start = 0
    for number, item in enumerate(items):
        if item.joined == "||" or (item.joined == ";" and not stops):
            start = number
    return start


def working(node: Node) -> list[Simple | Unread]:
    """All working commands of a line."""
    return [simple for simple in walk(node) if works(simple)]


def prints_files(node: Node) -> bool:
    """Whether some command prints what stands in files, history or pages: its words prove nothing.

    A filter in a pipe prints what came in, and a file written by the line itself is output, too.
    """
    return any(_prints_files(simple, _written(node)) for simple in _sources(node))


def _sources(node: Node) -> Iterator[Simple]:
    """The commands of a line that do not read from a pipe."""
    match node:
        case Simple():
            yield from (simple for simple in walk(node) if isinstance(simple, Simple))
        case Pipeline(parts):
            yield from _sources(parts[0])
            # `… | xargs cat` prints files after all.
            yield from (p for p in parts[1:] if isinstance(p, Simple) and p.name == "xargs")
        case Sequence(items):
            for item in items:
                yield from _sources(item.node)
        case Group(_, body):
            yield from _sources(body)
        case Block(_, pieces):
            for piece in pieces:
                if not isinstance(piece, str):
                    yield from _sources(piece)


def _written(node: Node) -> frozenset[str]:
    """The files that a line itself fills."""
    files: set[str] = set()
    for simple in walk(node):
        if isinstance(simple, Simple):
            files.update(r.target.value for r in simple.redirects if ">" in r.operator)
            files.update(values(simple)[1:] if simple.name == "tee" else ())
    return frozenset(files)


def _prints_files(simple: Simple, written: frozenset[str]) -> bool:
    words = (simple.name, *values(simple)[1:])
    if not simple.words or any(r.operator in ("<<", "<<<") for r in simple.redirects):
        return False
    if simple.name == "find":
        return any(word.startswith("-exec") for word in words)
    if not any(_matches(entry, words) for entry in table("commands")["effects"]["prints"]):
        return False
    return written.isdisjoint(words)


def last(node: Node) -> Simple | Unread | None:
    """The command whose exit code the line ends with, as far as its text tells."""
    match node:
        case Simple() | Unread():
            return node
        case Pipeline(parts):
            return last(parts[-1])
        case Sequence(items):
            return last(items[-1].node) if items else None
        case Group(_, body):
            return last(body)
        case Block(_, pieces):
            bodies = [piece for piece in pieces if not isinstance(piece, str)]
            return last(bodies[-1]) if bodies else None


def is_answer(node: Node, code: int) -> bool:
    """Whether a non-zero code is an answer (`grep` found nothing), not a failure."""
    if code in _ENDED_BY_OTHERS or is_poll(node):
        return True
    if isinstance(node, Pipeline) and node.negated:
        return True
    end = last(node)
    if not isinstance(end, Simple):
        return False
    words = (end.name, *values(end)[1:])
    answers = table("commands")["nothing_found"].get(str(code), ())
    if any(_matches(entry, words) for entry in answers):
        return True
    # `ls a b 2>/dev/null` asks what is there; so does a search that met something unreadable.
    muted = any(r.operator in ("2>", "&>") and r.target.value == "/dev/null" for r in end.redirects)
    return muted and program_effect(words) is Effect.READS


def is_poll(node: Node) -> bool:
    """Whether a line waits for something: its end tells that it is not there yet."""
    end = last(node)
    if isinstance(end, Simple):
        words = (end.name, *values(end)[1:])
        if any(_matches(entry, words) for entry in table("commands")["polls"]["commands"]):
            return True
    return any(
        isinstance(simple, Simple) and simple.name == "sleep"
        for block in _loops(node)
        for simple in walk(block)
    )


def _loops(node: Node) -> Iterator[Block]:
    match node:
        case Block(keyword):
            if keyword in ("while", "for"):
                yield node
        case Sequence(items):
            for item in items:
                yield from _loops(item.node)
        case Group(_, body):
            yield from _loops(body)


def _matches(entry: str, words: tuple[str, ...]) -> bool:
    """`git diff`: the program and, somewhere after it, the other words in this order."""
    expected = entry.split()
    if words[0] != expected[0]:
        return False
    at = 1
    for word in expected[1:]:
        if word != "*" and word not in words[at:]:
            return False
        at = at + 1 if word == "*" else words.index(word, at) + 1
    return True


def reports(node: Node) -> Iterator[Report]:
    """What the line prints about its own commands: `; echo "exit $?"`, `|| echo FAILED`."""
    if isinstance(node, Group):
        node = node.body
    if not isinstance(node, Sequence):
        return
    subject: Node | None = None
    kept: set[str] = set()
    for item in node.items:
        simple = item.node
        if not isinstance(simple, Simple):
            subject = simple
            continue
        names = [a.value.partition("=")[0] for a in simple.assignments if _STATUS.search(a.value)]
        kept.update(names)
        if names and not simple.words:
            continue
        prints = _printed(simple, kept)
        if prints is None:
            subject = simple if simple.name not in _FILLERS else subject
        elif subject is not None:
            pattern, codes = prints
            if codes or (item.joined == "||" and len(pattern) > 2):
                yield Report(re.compile(pattern), subject, codes)


_STATUS = re.compile(r"=\$(?:\?|\{\?\}|\{PIPESTATUS\[\d\]\})\Z")
_VARIABLE = re.compile(r"\$(?:\?|\w+|\{[^}]*\})")


def _printed(simple: Simple, kept: set[str]) -> tuple[str, bool] | None:
    """The line an `echo` prints, as a pattern, and whether an exit code is in it."""
    if simple.name not in ("echo", "printf") or any(word.inner for word in simple.words):
        return None
    words = [word for word in values(simple)[1:] if word not in ("-e", "-n", "-en", "-E")]
    text = " ".join(words)
    pattern, at, codes = "", 0, False
    for variable in _VARIABLE.finditer(text):
        name = variable[0].strip("${}")
        told = name == "?" or name in kept or name.startswith("PIPESTATUS[")
        pattern += re.escape(text[at : variable.start()])
        pattern += r"(\d+)" if told and not codes else ".*"
        codes = codes or told
        at = variable.end()
    return pattern + re.escape(text[at:]).replace(r"\\n", ""), codes


@cache
def _cleanup() -> frozenset[str]:
    return frozenset(table("commands")["effects"]["cleanup"].split())
