"""Which files a shell line is about to write, and which it names, as far as its text tells.

Paths are as written, joined to the directory an earlier `cd` of the same line led to; a glob
or a variable in them stays.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from functools import cache

from pmem.core.data import table
from pmem.core.signature import Command, parse
from pmem.core.tidy import only_shows

_OUTPUT_OPTIONS = frozenset({"-o", "--output", "--output-file", "--out"})
_SCRIPT_OPTIONS = frozenset({"-e", "-f", "--expression", "--file"})
_GIT_WRITERS = frozenset({"rm", "mv", "restore"})
#: Longer words are texts, no paths.
MAX_PATH = 400


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
            if path and len(path) <= MAX_PATH and "\n" not in path:
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
    operands = [word for word in words if word and not word.startswith("-")]
    if name == "git":
        yield from _written_by_git(words, operands)
        return
    if name in _listed("all"):
        yield from operands
    elif name in _listed("after_first"):
        yield from operands[1:]
    elif name == "mv":
        yield from operands
        yield from _into(operands)
    elif name in _listed("last") and len(operands) > 1:
        yield operands[-1]
        yield from _into(operands)
    elif name == "dd":
        yield from (word[3:] for word in words if word.startswith("of="))
    elif name == "patch":
        yield from operands[:1]
    elif name in _listed("output_option"):
        yield from _output_of(words)
    else:
        yield from _in_place(name, words, operands)


def _written_by_git(words: tuple[str, ...], operands: list[str]) -> Iterator[str]:
    if operands[:1] == ["checkout"] and "--" in words:
        yield from words[words.index("--") + 1 :]
    elif operands and operands[0] in _GIT_WRITERS:
        yield from operands[1:]


def _in_place(name: str, words: tuple[str, ...], operands: list[str]) -> Iterator[str]:
    rules = table("commands")["writes"]
    for kind in ("in_place", "script_in_place"):
        option = rules[kind].get(name)
        if option is None or not (option == "" or any(re.search(option, word) for word in words)):
            continue
        scripts = {after for word, after in _pairs(words) if word in _SCRIPT_OPTIONS}
        files = [operand for operand in operands if operand not in scripts]
        yield from files if scripts or kind == "in_place" else files[1:]


def _into(operands: list[str]) -> Iterator[str]:
    """Where `cp a b dir/` puts its files, if the last operand says that it is a directory."""
    target = operands[-1] if operands else ""
    if target.endswith("/") or target in (".", ".."):
        for source in operands[:-1]:
            yield posixpath.join(target, posixpath.basename(source.rstrip("/")))


def _output_of(words: tuple[str, ...]) -> Iterator[str]:
    for word, after in _pairs(words):
        if word in _OUTPUT_OPTIONS:
            yield after
        elif word.startswith(("--output=", "--out=")):
            yield word.partition("=")[2]


def _pairs(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    return zip(words, (*words[1:], ""), strict=False)


def _named(command: Command) -> Iterator[str]:
    for operator, target in command.redirects:
        if operator not in ("<<", "<<<") and not only_shows(operator, target):
            yield target
    yield from _written(command)
    words = command.words
    if not words:
        return
    if "/" in words[0]:
        yield words[0]
    skip = words[0].rpartition("/")[2] in _listed("pattern_first")
    for word in words[1:]:
        if word.startswith("-"):
            yield word.partition("=")[2]
        elif skip:
            skip = False
        elif not any(c.isspace() for c in word):
            yield word


@cache
def _listed(which: str) -> frozenset[str]:
    return frozenset(table("commands")["writes"][which].split())
