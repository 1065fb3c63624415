"""What the rules say, in the language of the task."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from pmem.core.moment import Moment

#: A command is quoted up to this many characters.
MAX_COMMAND = 72


@cache
def data(name: str) -> dict[str, Any]:
    """A data file of the rules by its name, read once."""
    text = resources.files("pmem.memory.rules.data").joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


def language(text: str) -> str:
    """`ko`, `ja`, `zh` or `en`, by the script most words of a text are written in.

    >>> language("빌드를 고쳐 줘"), language("fix the build")
    ('ko', 'en')
    """
    hangul = sum("가" <= c <= "힣" for c in text)
    kana = sum("ぁ" <= c <= "ヿ" for c in text)
    han = sum("一" <= c <= "鿿" for c in text)
    latin = sum(c.isascii() and c.isalpha() for c in text)
    if not hangul + kana + han or 4 * (hangul + kana + han) < latin // 2:
        return "en"
    if hangul >= kana + han:
        return "ko"
    return "ja" if 6 * kana >= han else "zh"


def task_language(moment: Moment) -> str:
    """The language of the newest words of the user, else of the task."""
    if moment.user_messages:
        return language(moment.user_messages[-1][1][:2000])
    return language(moment.task[:2000])


def phrase(name: str, lang: str, **parts: object) -> str:
    """A sentence of `data/phrases.toml`, filled in."""
    return str(data("phrases")[name][lang]).format(**parts)


def steps(numbers: Sequence[int], lang: str) -> str:
    """Step numbers as they are told: `step 9`, `steps 9 and 12`, `9, 12단계`."""
    told = [str(n) for n in numbers]
    if lang == "en":
        if len(told) == 1:
            return f"step {told[0]}"
        return f"steps {', '.join(told[:-1])} and {told[-1]}"
    return phrase("steps", lang, numbers=("、" if lang != "ko" else ", ").join(told))


_NAME = re.compile(r"[\w.@+~/-]{1,200}")


def quoted(command: str) -> str:
    """A command in backticks, on one line, shortened in the middle where it is long."""
    line = " ".join(command.split()).replace("`", "'")
    if len(line) > MAX_COMMAND:
        half = MAX_COMMAND // 2
        line = f"{line[: half + 10]} … {line[-(half - 13) :]}"
    return f"`{line}`"


def named(path: str) -> str:
    """A path as it is told: as it is, or like a command if there is more in it than a name.

    Whoever wrote the project chose its names: none may read as words of pmem's own.
    """
    return path if _NAME.fullmatch(path) else quoted(path)


def file_name(path: str) -> str:
    """A file as it is told: its name and the directory it lies in."""
    return named("/".join(path.rstrip("/").split("/")[-2:]))
