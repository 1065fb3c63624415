"""Redaction: secrets leave a text before it reaches the disk or a memory agent.

What a secret looks like is data (data/secrets.toml). Of a token its public prefix and its length
stay: `ghp_…[redacted 40]`. Hashes, ids, names and prose stay as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from pmem.core.data import table

#: Stands for a span that the user marked as private.
PRIVATE = "[private]"
#: One secret can only be seen once another beside it is gone; so many times is looked again.
_ROUNDS = 5

#: No token with a prefix of its own is shorter.
_SHORTEST_TOKEN = 16
#: A placeholder or a reference is no longer than this.
_LONGEST_NAME = 200

_MARK = re.compile(r"(…\[redacted \d+\]|\[private\])")
_SHOWN = re.compile(r"[\w.:/-]{0,24}…\[redacted \d+\]|\[private\]")
_PRIVATE_TAG = re.compile(r"<(/?)private>", re.IGNORECASE)
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[^\W\d_]")
_HUMP = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_OPTION = re.compile(r"(?:^|(?<=[\s\"'`=(\[{,;|&]))--?(?:[\w-]*-)?\Z")
_SEPARATED = re.compile(r"[A-Za-z]+(?:[-_.][A-Za-z]+)+\Z")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+\Z")
_NUMBERED = re.compile(r"[a-z]+(?:_[a-z]+)+_?v?\d{0,2}\Z", re.IGNORECASE)
_PATH = re.compile(
    r"(?:~|\.{1,2})?/[\w.-]{1,40}(?:/[\w.@-]*)*\Z|[A-Za-z]:\\|file:|https?://[^@]*\Z"
)
_ASCII_LOWER = {upper: upper + 32 for upper in range(65, 91)}


@dataclass(frozen=True, slots=True)
class _Pattern:
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    ignore_case: bool
    inside: bool
    option: bool
    needs: tuple[str, ...]
    #: It can only stand in a word of at least `_SHORTEST_TOKEN` characters.
    token: bool


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    length: int


def redact(text: str) -> str:
    """The text without secrets and without what stands in `<private>…</private>`. Idempotent."""
    text = without_private(text)
    for _ in range(_ROUNDS):
        found = _secrets(text)
        if not found:
            break
        parts: list[str] = []
        at = 0
        for secret in found:
            parts += text[at : secret.start], f"…[redacted {secret.length}]"
            at = secret.end
        text = "".join(parts) + text[at:]
    return text


def redactor(patterns: Sequence[str]) -> Callable[[str], str]:
    """`redact`, and after it a user's own regular expressions: what they match goes, or only
    their group `secret` where they have one.

    Raises ValueError naming an expression that cannot be used.
    """
    own: list[re.Pattern[str]] = []
    for pattern in patterns:
        try:
            own.append(re.compile(pattern))
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"secrets: {pattern!r} is no regular expression: {error}") from None
        if own[-1].match(""):
            raise ValueError(f"secrets: {pattern!r} would match everywhere")

    def redacted(text: str) -> str:
        text = redact(text)
        for pattern in own:
            # What stands in a mark is ours: an expression for numbers must not eat its length.
            pieces = _MARK.split(text)
            pieces[::2] = [pattern.sub(_own_mark, piece) for piece in pieces[::2]]
            text = "".join(pieces)
        return text

    return redacted if own else redact


def _own_mark(m: re.Match[str]) -> str:
    start, end = m.span("secret") if m.groupdict().get("secret") else m.span()
    if start == end:
        return m[0]
    mark = f"…[redacted {end - start}]"
    return m.string[m.start() : start] + mark + m.string[end : m.end()]


def findings(text: str, redacted: Callable[[str], str] = redact) -> list[str]:
    """What would be taken out of a text, as it would then stand there: `ghp_…[redacted 40]`.

    Marks that stand in it already are none. A private span counts as one.
    """
    left = redacted(text)
    if left == text:
        return []
    before = Counter(_SHOWN.findall(text))
    return list((Counter(_SHOWN.findall(left)) - before).elements())


def without_private(text: str) -> str:
    """The text with a mark in place of each span that is marked as private."""
    if "<" not in text:
        return text
    parts: list[str] = []
    at = depth = 0
    opened = 0
    for tag in _PRIVATE_TAG.finditer(text):
        if not tag[1]:
            if depth == 0:
                opened = tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                parts += text[at:opened], PRIVATE
                at = tag.end()
    return "".join(parts) + text[at:]


def _secrets(text: str) -> list[_Found]:
    """The secrets of a text in order, none overlapping; an earlier pattern wins."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter whose lower case is longer: places must stay the same
        lower = text.translate(_ASCII_LOWER)
    taken: list[_Found] = []
    mask = bytearray(len(text))
    present: dict[str, bool] = {}
    long_words = "\n".join(word for word in text.split() if len(word) >= _SHORTEST_TOKEN)
    for pattern in _patterns():
        for word in pattern.needs:
            if word not in present:
                present[word] = word in lower
        if pattern.needs and not any(present[word] for word in pattern.needs):
            continue
        searched = lower if pattern.ignore_case else text
        literals = pattern.literals
        if pattern.token:
            literals = tuple(literal for literal in literals if literal in long_words)
        for found in _matches(pattern, literals, text, searched):
            if mask.find(1, found.start, found.end) < 0:
                mask[found.start : found.end] = b"\x01" * (found.end - found.start)
                taken.append(found)
    return sorted(taken, key=lambda found: found.start)


def _matches(
    pattern: _Pattern, literals: tuple[str, ...], text: str, searched: str
) -> Iterator[_Found]:
    for literal in literals:
        at = searched.find(literal)
        while at >= 0:
            end = at + len(literal)
            if (pattern.inside or not _in_word(text, at)) and (
                not pattern.option or _OPTION.search(text, max(0, at - 40), at + 1)
            ):
                m = pattern.pattern.match(text, at)
                if m is not None and (found := _found(m)) is not None:
                    yield found
                    end = found.end
            at = searched.find(literal, end)


def _in_word(text: str, at: int) -> bool:
    before = text[at - 1] if at else ""
    # `\n` in a string literal is no letter before a token.
    return before.isalnum() and not (at > 1 and text[at - 2] == "\\" and before in "nrt")


def _found(m: re.Match[str]) -> _Found | None:
    for kind, value in m.groupdict().items():
        if value is None or kind in ("keep", "name"):
            continue
        if kind == "secret" or _is_secret(value, kind, m.groupdict().get("name") or ""):
            start, end = m.span(kind)
            kept = len(m.groupdict().get("keep") or "")
            return _Found(start, end, (kept if kept < 24 else 0) + end - start)
    return None


def _is_secret(value: str, kind: str, name: str) -> bool:
    """Whether a value that stands where a secret would is one.

    `any`: all but placeholders, references and paths. `quoted` and `single`: also no words.
    `mixed` and `typed`: also no code; such a value has letters and digits.
    """
    if len(value) <= _LONGEST_NAME and any(p.fullmatch(value) for p in _placeholders()):
        return False
    if _PATH.match(value) or _ATTRIBUTE.match(value):
        return False
    if kind.startswith("any"):
        return True
    digits = _DIGIT.search(value) is not None
    letters = _LETTER.search(value) is not None
    if kind in ("quoted", "single"):
        if digits:
            return letters or "pass" in name.lower() or len(value) >= 12
        return not _is_words(value)
    if kind == "typed" and not digits:
        return len(value) >= 16 and not _is_words(value)
    if not letters:
        return digits and "pass" in name.lower()
    return digits and len(value) >= (5 if kind == "typed" else 8) and not _NUMBERED.match(value)


def _is_words(value: str) -> bool:
    """Whether letters read as words: a short one, camelCase, some-words."""
    if value.isalpha():
        humps = _HUMP.findall(value)
        return len(value) < 16 or (len(humps) > 1 and len(value) / len(humps) >= 3.5)
    return _SEPARATED.match(value) is not None and len(value) < 24


@cache
def _patterns() -> tuple[_Pattern, ...]:
    return tuple(
        _Pattern(
            tuple(row["literals"]),
            re.compile(row["pattern"], re.IGNORECASE if row.get("ignore_case") else 0),
            row.get("ignore_case", False),
            row.get("inside", False),
            row.get("option", False),
            tuple(row.get("needs", ())),
            "(?P<keep>" in row["pattern"] and not any(" " in word for word in row["literals"]),
        )
        for row in table("secrets")["pattern"]
    )


@cache
def _placeholders() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p, re.I) for p in table("secrets")["values"]["placeholders"])
