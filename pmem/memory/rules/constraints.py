"""What a text forbids: prohibitions in rule files, the task and the user's messages.

A prohibition is taken only where the text names a command, an act or a path that can be told
from a proposed action. Everything half understood (a condition of another kind, a place, a
further clause) is left alone: few and right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, cast

from pmem.memory.rules.mention import Pattern, pattern, strong, subcommands
from pmem.memory.rules.passages import Sentence, sentences
from pmem.memory.rules.phrases import data, language

Need = Literal["", "permission", "test", "lint", "format", "types", "build"]

#: Constraints taken from one text at most.
MAX_CONSTRAINTS = 60


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
        constraint = _read(sentence)
        if constraint is not None:
            found.append(constraint)
            if len(found) == MAX_CONSTRAINTS:
                break
    return tuple(found)


def _read(sentence: Sentence) -> Constraint | None:
    text = sentence.text
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
                listed = patterns(match["list"])
                need = _needs(text, match, lang)
                if listed and need is not None:
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
    path = (
        rf"(?:{_CODE}|(?<![\w`./*@-])[\w.@-]*/[\w./*@-]*+"
        r"|(?<![\w`])[\w-]+\.(?:lock|json|ya?ml|toml|sum))"
    )

    between = _BETWEEN.replace("|/|", "|")  # a slash belongs to the path

    def compiled(key: str) -> tuple[re.Pattern[str], ...]:
        return tuple(
            re.compile(
                form.replace("{{", "{")
                .replace("}}", "}")
                .replace("{list}", f"(?P<list>{listed})")
                .replace("{paths}", f"(?P<paths>{path}(?:{between}{path})*+)")
                .replace("{good}", f"(?P<good>{mention})")
                .replace("{bad}", f"(?P<bad>{listed})"),
                re.I,
            )
            for form in words[key]
        )

    return _Forms(compiled("command"), compiled("instead"), compiled("path"))


_CODE = r"`[^`\n]+`"
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


def patterns(listed: str) -> list[Pattern]:
    """The patterns a list of mentions means; a mention that is no command is passed over."""
    mention = re.compile(f"{_CODE}|{_acts_regex()}|{_plain_regex()}", re.I)
    found: list[Pattern] = []
    for match in mention.finditer(listed):
        found += _one(match[0])
    return found


def _one(mention: str) -> Iterator[Pattern]:
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
        known = pattern(text)
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
