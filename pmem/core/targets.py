"""Which files a shell line is about to write, and which it names, as far as its text tells.

Paths are as written, joined to the directory an earlier `cd` of the same line led to; a glob
or a variable in them stays. Reading is not looked at: see `effect`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from pmem.core.signature import Command, parse
from pmem.core.tidy import only_shows

#: Every operand of these is written (or removed).
_ALL = frozenset(
    "rm rmdir unlink shred touch mkdir truncate tee mkfifo restore vi vim nvim nano emacs".split()
)
#: The first operand of these is a mode or an owner, the others are changed.
_AFTER_FIRST = frozenset("chmod chown chgrp".split())
#: The last operand of these is where something goes.
_LAST = frozenset("cp install ln rsync scp".split())
#: Programs that edit in place with a certain option; the first operand is a script.
_IN_PLACE = {"sed": re.compile(r"-[a-zA-Z]*i|--in-place"), "perl": re.compile(r"-[a-z]*i")}
_FORMATTERS = re.compile(r"(--write|--fix|-w|-i|--in-place)\Z")
_FORMATTER_NAMES = frozenset("prettier eslint gofmt goimports black isort ruff rustfmt".split())
#: Options of these whose value is a file they write.
_OUTPUT_OPTION = re.compile(r"-o|--output|--output-file|--out")
_OUTPUT_PROGRAMS = frozenset("curl wget gcc g++ cc c++ clang clang++ ld go sort pandoc tsc".split())
#: The first operand of these is a pattern or a program, not a path.
_PATTERN_FIRST = frozenset(
    "grep egrep fgrep rg ag ack sed awk gawk perl jq yq echo printf expr".split()
)
_MAX_PATH = 400


def writes(command: str) -> tuple[str, ...]:
    """The files a line writes, moves or removes: redirects, `tee`, `sed -i`, `mv`, `rm`, …"""
    return _all_of(command, _written)


def names(command: str) -> tuple[str, ...]:
    """The words of a line that can be paths, those it writes among them."""
    return _all_of(command, _named)


def _all_of(command: str, pick: Callable[[Command], Iterator[str]]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for part in parse(command):
        for path in pick(part):
            if path and len(path) <= _MAX_PATH and "\n" not in path:
                found[_placed(path, part.cwd)] = None
    return tuple(found)


def _placed(path: str, cwd: str | None) -> str:
    if cwd is None or path.startswith(("/", "~", "$")):
        return path
    return posixpath.normpath(posixpath.join(cwd, path))


def _written(command: Command) -> Iterator[str]:
    for operator, target in command.redirects:
        if ">" in operator and not only_shows(operator, target):
            yield target
    if not command.words:
        return
    name = command.words[0].rpartition("/")[2]
    words = command.words[1:]
    operands = [word for word in words if not word.startswith("-")]
    if name == "git":
        name, operands = (operands[0], operands[1:]) if operands else ("", [])
        if name not in ("rm", "mv", "restore"):
            return
    if name in _ALL:
        yield from operands
    elif name in _AFTER_FIRST:
        yield from operands[1:]
    elif name == "mv":
        yield from operands
        yield from _into(operands)
    elif name in _LAST and len(operands) > 1:
        yield operands[-1]
        yield from _into(operands)
    elif name == "dd":
        yield from (word[3:] for word in words if word.startswith("of="))
    elif name in _IN_PLACE and any(_IN_PLACE[name].match(word) for word in words):
        scripted = any(word in ("-e", "-f", "--expression") for word in words)
        yield from operands if scripted else operands[1:]
    elif name in _FORMATTER_NAMES:
        if name in ("black", "isort") or any(_FORMATTERS.match(word) for word in words):
            yield from operands
    elif name in _OUTPUT_PROGRAMS:
        yield from _output_of(words)
    elif name == "patch":
        yield from operands[:1]


def _into(operands: list[str]) -> Iterator[str]:
    """Where `cp a b dir/` puts its files, if the last operand says that it is a directory."""
    target = operands[-1] if operands else ""
    if target.endswith("/") or target in (".", ".."):
        for source in operands[:-1]:
            yield posixpath.join(target, posixpath.basename(source.rstrip("/")))


def _output_of(words: tuple[str, ...]) -> Iterator[str]:
    for word, after in zip(words, (*words[1:], ""), strict=True):
        if _OUTPUT_OPTION.fullmatch(word):
            yield after
        elif word.startswith(("--output=", "--out=")):
            yield word.partition("=")[2]


def _named(command: Command) -> Iterator[str]:
    for operator, target in command.redirects:
        if operator not in ("<<", "<<<") and not only_shows(operator, target):
            yield target
    words = command.words
    if not words:
        return
    if "/" in words[0]:
        yield words[0]
    skip = words[0].rpartition("/")[2] in _PATTERN_FIRST
    for word in words[1:]:
        if word.startswith("-"):
            _, equals, value = word.partition("=")
            if equals and value:
                yield value
        elif skip:
            skip = False
        elif not any(c.isspace() for c in word):
            yield word
