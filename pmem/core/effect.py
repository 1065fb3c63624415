"""Effect of an action: does it only read, change something, or can nobody tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any

from pmem.core.data import table
from pmem.core.signature import Command, parse
from pmem.core.step import Action
from pmem.core.tidy import is_log, only_shows

_CACHED = 8 * 1024
_ASKS = frozenset({"--version", "--help", "-h", "-V", "-version", "-help"})
#: Words of a program that take another program: `find -exec PROG`, `xargs PROG`.
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_XARGS_VALUED = frozenset({"-n", "-P", "-I", "-L", "-d", "-a", "-E", "-s", "--max-args"})
#: Programs that print what they are told: redirected, they write a file's contents.
_AUTHORS = frozenset({"cat", "echo", "printf"})
_SENDS = re.compile(r"-[XfF]|--(?:method|field|raw-field|input)\b")


class Effect(StrEnum):
    """From weak to strong; the effect of a compound is that of its strongest part."""

    READS = "reads"
    UNKNOWN = "unknown"
    CHANGES = "changes"


_STRENGTH = {Effect.READS: 0, Effect.UNKNOWN: 1, Effect.CHANGES: 2}
_OF_KIND = {"edit": Effect.CHANGES, "tool": Effect.UNKNOWN}


def effect(action: Action) -> Effect:
    """What an action does to files, installed things and the shell it runs in.

    An edit changes; a tool is unknown; reads, messages and the user's words only read. A
    command is judged by its parts. A `cd` or an assignment changes only if it stands alone.
    """
    if action.kind != "command":
        return _OF_KIND.get(action.kind, Effect.READS)
    if len(action.text) <= _CACHED:
        return _effect(action.text)
    return _strongest(parse(action.text))


@lru_cache(maxsize=512)
def _effect(text: str) -> Effect:
    return _strongest(parse(text))


def _strongest(commands: tuple[Command, ...]) -> Effect:
    effects = [command_effect(command) for command in commands if not _only_here(command)]
    if not effects:
        return Effect.CHANGES if commands else Effect.READS
    return max(effects, key=_STRENGTH.__getitem__)


def _only_here(command: Command) -> bool:
    """A `cd` or assignment: it matters to later lines only if it is all that was done."""
    return command.words[:1] == ("cd",) or not (command.words or command.redirects)


def command_effect(command: Command) -> Effect:
    """The effect of one simple command with its redirects."""
    own = program_effect(command.words)
    targets = [t for op, t in command.redirects if ">" in op and not only_shows(op, t)]
    name = command.words[0].rpartition("/")[2] if command.words else ""
    if any(name in _AUTHORS or not is_log(target) for target in targets):
        return Effect.CHANGES
    return own


def program_effect(words: tuple[str, ...]) -> Effect:
    """The effect of a program with its arguments."""
    if not words:
        return Effect.READS
    name = words[0].rpartition("/")[2].lower()
    if len(words) == 2 and words[1] in _ASKS:
        return Effect.READS
    if name in _option_patterns():
        turned = _by_option(name, words[1:])
        if turned is not None:
            return turned
    if name in ("find", "xargs", "fd"):
        return max((program_effect(p) for p in _inside(name, words)), key=_STRENGTH.__getitem__)
    if name == "tee":
        return _tee(words[1:])
    if name == "gh" and words[1:2] == ("api",):
        return _api(words[2:])
    rules = table("commands")["subcommands"].get(name)
    if rules is not None:
        return _by_subcommand(rules, words[1:])
    if name in _names("reads"):
        return Effect.READS
    return Effect.CHANGES if name in _names("changes") else Effect.UNKNOWN


def _tee(words: tuple[str, ...]) -> Effect:
    files = [word for word in words if not word.startswith("-")]
    shows = all(is_log(file) or only_shows(">", file) for file in files)
    return Effect.READS if shows else Effect.CHANGES


def _api(words: tuple[str, ...]) -> Effect:
    """A call of GitHub's API: it reads, unless it is given a method or fields to send."""
    graphql = "graphql" in words
    if graphql:
        return Effect.CHANGES if any("mutation" in word for word in words) else Effect.READS
    sends = any(_SENDS.match(word) for word in words)
    return Effect.READS if "GET" in words or not sends else Effect.CHANGES


def _by_option(name: str, words: tuple[str, ...]) -> Effect | None:
    for outcome, pattern in _option_patterns()[name]:
        if any(pattern.search(word) for word in words):
            return outcome
    return None


def _inside(name: str, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The programs that a `find -exec` or an `xargs` runs."""
    yield ("true",)
    if name == "xargs":
        at = 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _XARGS_VALUED else 1
        yield words[at:]
        return
    for at, word in enumerate(words):
        if word in _EXEC:
            yield words[at + 1 :]


def _by_subcommand(rules: dict[str, Any], words: tuple[str, ...]) -> Effect:
    words = tuple(_without_globals(words))
    first = words[0] if words else ""
    partly = rules.get("partly", {}).get(first)
    if partly is not None:
        return Effect.READS if _reads_partly(first, partly, words[1:]) else Effect(rules["else"])
    if not first or first in rules.get("reads", "").split():
        return Effect.READS if first else Effect.UNKNOWN
    if first in rules.get("changes", "").split():
        return Effect.CHANGES
    return Effect.READS if words[1:2] == ("--help",) else Effect(rules["else"])


def _reads_partly(first: str, pattern: str, words: tuple[str, ...]) -> bool:
    if re.match(pattern, words[0] if words else ""):
        return True
    return first == "config" and len([w for w in words if not w.startswith("-")]) == 1


def _without_globals(words: tuple[str, ...]) -> Iterator[str]:
    """The words from the subcommand on, or from an option that stands for one."""
    at = 0
    while at < len(words):
        if words[at] in ("-C", "-c", "-n", "--context", "--namespace", "--prefix", "--git-dir"):
            at += 2
        elif words[at].startswith(("--no-pager", "--git-dir=", "--prefix=", "-q", "+")):
            at += 1
        else:
            break
    yield from words[at:]


@cache
def _names(what: str) -> frozenset[str]:
    return frozenset(table("commands")["effects"][what].split())


@cache
def _option_patterns() -> dict[str, list[tuple[Effect, re.Pattern[str]]]]:
    patterns: dict[str, list[tuple[Effect, re.Pattern[str]]]] = {}
    for outcome in (Effect.CHANGES, Effect.UNKNOWN, Effect.READS):
        for name, pattern in table("commands")["options"].get(outcome, {}).items():
            patterns.setdefault(name, []).append((outcome, re.compile(pattern)))
    return patterns
