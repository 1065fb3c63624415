"""Commands as a text names them, and whether a proposed command is one of them.

A rule file says `git push --force`, "force-push" or "npm"; what runs is
`git -C web push -f origin main`. Only the programs that run are looked at: a command that merely
names another one (grep, echo, a commit message) is never meant.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from pmem.core.signature import parse
from pmem.memory.rules.phrases import data

ANY = "*"
#: Stands for what a text leaves open: `git push <remote>`.
_OPEN = "_open_"
#: A program's name as it is mostly written; a function's or a type's seldom is.
_NAME = re.compile(r"[a-z][a-z0-9_+-]*(?:\.(?:sh|bash|py|js|ts|rb|pl|exe))?")
_PLACEHOLDER = re.compile(r"<[^>]*>|\[[^\]]*\]|\.\.\.|…|\$\w+|\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A command as a text means it: the program, words that follow, and options it must have.

    Each element of `flags` is a set of spellings of which one must stand there.
    """

    program: str
    words: tuple[str, ...] = ()
    flags: tuple[frozenset[str], ...] = ()

    def matches(self, words: Sequence[str]) -> bool:
        """Whether a simple command, given by its words, is this command."""
        for program, rest in _views(words):
            if program == self.program and self._fits(*_split(program, rest)):
                return True
        return False

    def _fits(self, positional: Sequence[str], flags: frozenset[str]) -> bool:
        if self._only_looks(positional, flags):
            return False
        if not all(same & flags for same in self.flags):
            return False
        if not self.words:
            return True
        if not positional or self.words[0] not in (ANY, positional[0]):
            return False
        rest = iter(positional[1:])
        return all(any(_means(word, other) for other in rest) for word in self.words[1:])

    def _only_looks(self, positional: Sequence[str], flags: frozenset[str]) -> bool:
        """Whether it asks for help, tries dry, or lists what is there (`git stash list`)."""
        tables = data("commands")
        name = " ".join((self.program, *positional[:1]))
        dry = {*tables["harmless"], *tables["dry"].get(self.program, ())}
        dry.update(tables["dry"].get(name, ()))
        if flags & dry and not any(same & flags & dry for same in self.flags):
            return True
        return (
            len(self.words) == 1
            and name in tables["groups"]
            and positional[1:2] != []
            and positional[1] in tables["looks"]
        )


def _means(word: str, other: str) -> bool:
    return word == other or (word == ANY and not other.startswith("."))


def pattern(text: str, *, named: bool = False) -> Pattern | None:
    """The one simple command a text is, as a pattern; None if it is no command we know.

    With `named` the text says that it is one: its program may be of any name.
    """
    commands = parse(_PLACEHOLDER.sub(_OPEN, text))
    if len(commands) != 1 or not commands[0].words:
        return None
    views = list(_views(commands[0].words))
    program, rest = next(
        ((p, r) for p, r in reversed(views) if _known(p)), (views[0][0], views[0][1])
    )
    own = text.strip().startswith("./") or (named and _NAME.fullmatch(program) is not None)
    if not (_known(program) or own):
        return None
    positional, flags = _split(program, rest)
    while positional and positional[-1] == _OPEN:
        positional.pop()
    positional = [ANY if word == _OPEN else word for word in positional]
    name = " ".join((program, *positional[:1]))
    return Pattern(program, tuple(positional), tuple(_spellings(name, f) for f in sorted(flags)))


def unknown(code: str, verb: str) -> Pattern | None:
    """What a text in backticks means that no list knows, by the verb it is forbidden with.

    After `run` any command is one; after `use` only a single name, and none that stands in the
    code of a programming language (`any`, `var`).
    """
    if verb == "use" and not (
        _NAME.fullmatch(code) and len(code) > 2 and code not in _code_words()
    ):
        return None
    return pattern(code, named=True) if verb else None


def run_by(command: str) -> list[tuple[str, ...]]:
    """The words of every simple command of a line; under `sudo` and its like, those too.

    A function that is only defined runs nothing.
    """
    found: list[tuple[str, ...]] = []
    parts = parse(command)
    called = {part.words[0] for part in parts if part.words}
    for part in parts:
        if part.within and part.within not in called:
            continue
        found.append(part.words)
        first = part.text.removeprefix(" ".join(part.assignments)).split(maxsplit=1)[:1]
        if first and first[0] in data("commands")["wrappers"] and part.words[:1] != tuple(first):
            found.append((first[0], *part.words))
    return found


def strong() -> frozenset[str]:
    """Programs that are recognised without backticks."""
    return frozenset(data("commands")["strong"].split())


def subcommands() -> frozenset[str]:
    """Words that belong to a command even without backticks."""
    return frozenset(data("commands")["subcommands"].split())


@cache
def _known_programs() -> frozenset[str]:
    return strong() | frozenset(data("commands")["weak"].split())


@cache
def _code_words() -> frozenset[str]:
    return frozenset(data("commands")["code_words"].split())


def _known(program: str) -> bool:
    return program in _known_programs()


def _views(words: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """The programs a simple command runs: the wrapper itself, then what it wraps."""
    wrappers = data("commands")["wrappers"]
    rest = list(words)
    while rest:
        program = posixpath.basename(rest[0])
        yield program, rest[1:]
        if program in ("python", "python3") and rest[1:2] == ["-m"] and len(rest) > 2:
            rest = rest[2:]
        elif program in wrappers:
            rest = rest[1:]
            while rest and (rest[0].startswith("-") or "=" in rest[0]):
                rest = rest[1:]
        else:
            return


def _split(program: str, words: Sequence[str]) -> tuple[list[str], frozenset[str]]:
    """Positional words (the subcommand under its main name) and options, clusters taken apart."""
    takes_value = data("commands")["values"].get(program, ())
    positional: list[str] = []
    flags: set[str] = set()
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--":
            positional += words
            break
        if not word.startswith("-") or word == "-":
            positional.append(word)
            continue
        if re.fullmatch(r"-[A-Za-z]{2,4}", word) and word not in takes_value:
            flags.update(f"-{letter}" for letter in word[1:])
        else:
            flags.add(word.split("=", 1)[0])
        if word in takes_value and words:
            words.pop(0)
    if positional:
        names = data("commands")["aliases"].get(program, {})
        positional[0] = names.get(positional[0], positional[0])
        if (
            program == "git"
            and positional[0] == "push"
            and any(word.startswith("+") for word in positional[1:])
        ):
            flags.add("--force")
        if program == "git" and positional[0] == "push":
            positional = [p.removeprefix("HEAD:").removeprefix("+") for p in positional]
    return positional, frozenset(flags)


def _spellings(program: str, flag: str) -> frozenset[str]:
    for row in data("commands")["flags"]:
        if flag in row["same"] and program.startswith(row["program"]):
            return frozenset(row["same"])
    return frozenset((flag,))
