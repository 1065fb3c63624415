"""What a text forbids: prohibitions in rule files, the task and the user's messages.

A prohibition is taken only where the text names a command, an act or a path that can be told
from a proposed action. Everything half understood (a condition of another kind, a place, a
further clause) is left alone: few and right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal, cast

from pmem.memory.rules.mention import Pattern, pattern, strong, subcommands, unknown
from pmem.memory.rules.passages import Sentence, sentences
from pmem.memory.rules.phrases import data, language

Need = Literal["", "permission", "test", "lint", "format", "types", "build"]

#: Constraints taken from one text at most.
MAX_CONSTRAINTS = 60

#: A head of a list that is longer is none (characters).
MAX_HEAD = 80


@dataclass(frozen=True, slots=True)
class Constraint:
    """One prohibition: the sentence, its line, and what it forbids.

    `needs` is what lifts it: the user's word (`permission`), or a kind of work that has run
    since the last edit.
    """

    line: int
    quote: str
    lang: str
    commands: tuple[Pattern, ...] = ()
    paths: tuple[str, ...] = ()
    needs: Need = ""


@lru_cache(maxsize=64)
def constraints(text: str) -> tuple[Constraint, ...]:
    """The prohibitions of a text, in its order."""
    found: list[Constraint] = []
    for sentence in sentences(text):
        constraint = _read(sentence) or _read_under(sentence)
        if constraint is not None:
            found.append(constraint)
            if len(found) == MAX_CONSTRAINTS:
                break
    return tuple(found)


def _read_under(sentence: Sentence) -> Constraint | None:
    """An item of a list whose head says that it is forbidden: `Never run:`, `## Forbidden`."""
    head = sentence.lead.replace("*", "").strip(" :：")
    if not head or len(head) > MAX_HEAD:
        return None
    found = _read(replace(sentence, text=f"{head}: {sentence.text}"))
    return found if found is not None and found.commands else None


def _read(sentence: Sentence) -> Constraint | None:
    text = _in_code(sentence.text)
    for lang in ("en", "ko", "ja", "zh"):
        if not _signs(lang).search(text):
            continue
        forms = _forms(lang)
        commands: list[Pattern] = []
        paths: list[str] = []
        needs: Need = ""
        for form in forms.instead:
            for match in form.finditer(text):
                good, bad = patterns(match["good"]), patterns(match["bad"])
                if good and bad and not set(good) & set(bad):
                    commands += bad
        for form in forms.command:
            for match in form.finditer(text):
                meant = patterns(match["list"], _verb(match))
                listed = [p for one in meant if (p := _on_branch(one, text)) is not None]
                need = _needs(text, match, lang) if listed else None
                if need is not None:
                    commands += listed
                    needs = need or needs
        for form in forms.path:
            for match in form.finditer(text):
                if _needs(text, match, lang) == "":
                    paths += _paths(match["paths"])
        if commands or paths:
            return Constraint(
                sentence.line,
                sentence.quote,
                language(text),
                tuple(dict.fromkeys(commands)),
                tuple(dict.fromkeys(paths)),
                needs,
            )
    return None


def _in_code(text: str) -> str:
    """The text with commands in quotation marks ("npm publish") in backticks instead."""

    def code(match: re.Match[str]) -> str:
        inner = match[1] or match[2] or match[3]
        return f"`{inner}`" if pattern(inner) is not None else match[0]

    return _QUOTES.sub(code, text) if _QUOTES.search(text) else text


def _verb(match: re.Match[str]) -> str:
    """`run` or `use`, if the form says that what it forbids is a program; else ""."""
    names = match.groupdict()
    return next((v for v in ("run", "use") for k in names if k.startswith(v) and names[k]), "")


def _on_branch(command: Pattern, text: str) -> Pattern | None:
    """The command for the branch that the text is about, if it is about one.

    None where the command would not show it: `git commit` does not say on which branch it is.
    """
    named = _branches().search(text)
    if command.program not in ("git", "gh") or named is None:
        return command
    if any(_branches().search(f"to {word}") for word in command.words[1:]):
        return command
    name = _BRANCH.search(named[0])
    if command.words != ("push",) or name is None:
        return None
    return replace(command, words=("push", name[0].lower()))


@cache
def _branches() -> re.Pattern[str]:
    return re.compile("|".join(data("prohibitions")["branches"]), re.I)


def _needs(text: str, match: re.Match[str], lang: str) -> Need | None:
    """What lifts the prohibition; None if the rest of the sentence is not understood."""
    words = data("prohibitions")[lang]
    before, after = text[: match.start()], text[match.end() :]
    if words["after"] and not re.match(words["after"], after, re.I):
        return None
    rest = f"{before} \n {after}"
    if re.search(words["permission"], rest, re.I):
        return "permission"
    if not re.search(words["condition"], rest, re.I):
        return ""
    if re.search(words["ran"], rest, re.I):
        for work, (said, _) in data("prohibitions")["work"].items():
            if re.search(said, rest, re.I):
                return cast(Need, work)
    return None


@dataclass(frozen=True, slots=True)
class _Forms:
    command: tuple[re.Pattern[str], ...]
    instead: tuple[re.Pattern[str], ...]
    path: tuple[re.Pattern[str], ...]


@cache
def _signs(lang: str) -> re.Pattern[str]:
    return re.compile(data("prohibitions")[lang]["signs"], re.I)


@cache
def _forms(lang: str) -> _Forms:
    words = data("prohibitions")[lang]
    mention = f"(?:{_CODE}|{_acts_regex()}|{_plain_regex()})"
    listed = f"{mention}(?:{_BETWEEN}{mention})*+"
    # A particle follows without a space: `src/gen/을`.
    path = (
        rf"(?:{_CODE}|(?<![\w`./*@-])(?a:[\w.@-]*/[\w./*@-]*+)"
        r"|(?<![\w`])[\w-]+\.(?:lock|json|ya?ml|toml|sum))"
    )

    between = _BETWEEN.replace("|/|", "|")  # a slash belongs to the path

    def compiled(key: str) -> tuple[re.Pattern[str], ...]:
        return tuple(
            re.compile(
                form.replace("{{", "{")
                .replace("}}", "}")
                .replace("{list}", f"(?P<list>{listed})")
                .replace("{code}", f"(?P<list>{_CODE}(?:{_BETWEEN}{_CODE})*+)")
                .replace("{paths}", f"(?P<paths>{path}(?:{between}{path})*+)")
                .replace("{good}", f"(?P<good>{mention})")
                .replace("{bad}", f"(?P<bad>{listed})"),
                re.I,
            )
            for form in words[key]
        )

    return _Forms(compiled("command"), compiled("instead"), compiled("path"))


_CODE = r"`[^`\n]+`"
_BRANCH = re.compile(r"\b(?:main|master|develop|dev|trunk|production|prod|staging|release)\b", re.I)
_QUOTES = re.compile(
    r"\"([^\"`\n]{2,80})\"|[“「]([^”」`\n]{2,80})[”」]|(?<!\w)'([a-z][^'`\n]{1,80})'(?!\w)"
)
_BETWEEN = (
    r"\s*(?:,(?:\s*(?:and|or|nor)\b)?|/|、|,|·|\band\b|\bor\b|\bnor\b|또는|혹은|및|이나|나|과|와|や|と"
    r"|または|或者?|和|与|以及)\s*"
)


@cache
def _plain_regex() -> str:
    programs = "|".join(sorted(map(re.escape, strong()), key=len, reverse=True))
    words = "|".join(sorted(map(re.escape, subcommands()), key=len, reverse=True))
    return (
        rf"(?<![A-Za-z0-9_./@-])(?:{programs})(?![A-Za-z0-9_/@-]|\.[A-Za-z])"
        rf"(?: (?:(?:{words})(?![\w-])|--?[A-Za-z][\w-]*))*"
    )


@cache
def _acts() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    rows = reversed(data("commands")["acts"])
    return tuple((re.compile("|".join(row["words"]), re.I), tuple(row["commands"])) for row in rows)


@cache
def _acts_regex() -> str:
    every = "|".join(act.pattern for act, _ in _acts())
    return rf"(?<![A-Za-z0-9_-])(?:{re.sub(r'[(][?]P<[a-z_]+>', '(?:', every)})"


def patterns(listed: str, verb: str = "") -> list[Pattern]:
    """The patterns a list of mentions means; a mention that is no command is passed over.

    `verb` is what is said of them (`run`, `use`), where that makes commands of unknown names.
    """
    mention = re.compile(f"{_CODE}|{_acts_regex()}|{_plain_regex()}", re.I)
    found: list[Pattern] = []
    for match in mention.finditer(listed):
        found += _one(match[0], verb)
    return found


def _one(mention: str, verb: str) -> Iterator[Pattern]:
    if mention.startswith("`"):
        code = mention.strip("` ")
        texts: tuple[str, ...] = (code,)
        if re.fullmatch(r"--[a-z][\w-]+", code):
            texts = tuple(
                f"{row['program']} {code}"
                for row in data("commands")["flags"]
                if code in row["same"]
            )
    else:
        texts = _act(mention) or (mention,)
    for text in texts:
        known = pattern(text) or (unknown(text, verb) if mention.startswith("`") else None)
        if known is not None:
            yield known


def _act(words: str) -> tuple[str, ...]:
    for act, commands in _acts():
        match = act.fullmatch(words.strip())
        if match is not None:
            to = next((v for k, v in match.groupdict().items() if k.startswith("to_") and v), "")
            return tuple(command.replace("{to}", to) for command in commands)
    return ()


def _paths(listed: str) -> Iterator[str]:
    for match in re.finditer(rf"{_CODE}|[\w./*@-]+", listed):
        path = match[0].strip("` ").removeprefix("./")
        if re.fullmatch(r"[\w./*@-]+", path) and re.search(r"[/.*]", path) and len(path) > 2:
            yield path
