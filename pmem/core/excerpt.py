"""Long texts cut to head and tail before they are redacted, so that no secret is cut in two.

Half a token is none that a pattern could tell: what stands at the cut is looked at with what stands
beyond it.
"""

from __future__ import annotations

from pmem.core.redact import PRIVATE, redact, without_private

#: So many characters beyond a cut are looked at as well: a private key of 8,192 bits is shorter.
MARGIN = 8192
#: A cut is moved to the end of a line that is no longer than this.
_LINE = 500


def head_of(text: str, size: int) -> str:
    """The beginning of a longer text: at most `size` characters, whole lines where it has any."""
    kept = redact(text[: size + MARGIN])[:size]
    end = kept.rfind("\n", max(0, len(kept) - _LINE))
    return kept if end < 0 else kept[:end]


def tail_of(text: str, size: int) -> str:
    """The end of a longer text: at most `size` characters, whole lines where it has any."""
    within = text[-(size + MARGIN) :]
    if len(within) < len(text):  # it may begin in the midst of a secret
        within = within[within.find("\n", 0, MARGIN) + 1 :]
    kept = redact(within)[-size:]
    return kept[kept.find("\n", 0, _LINE) + 1 :]


def excerpt(text: str, limit: int) -> str:
    """The text, or its head and tail around a line that says how many characters are left out."""
    if len(text) <= limit:
        return text
    text = without_private(text)
    if len(text) <= limit:
        return text
    head, tail = head_of(text, limit // 3), tail_of(text, limit - limit // 3)
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out} characters left out …]\n{tail}"


def around_a_gap(before: str, after: str, head: int, tail: int) -> tuple[str, str]:
    """What stood before and after a gap, at most so many characters: what is there besides, at the
    gap, is only looked at.

    A private span whose end or beginning is in the gap goes up to it.
    """
    before = without_private(f"{before}</private>").removesuffix("</private>")
    opened = without_private(f"<private>{after}")
    if not opened.startswith("<private>"):
        after = opened.removeprefix(PRIVATE)
    return head_of(before, head), tail_of(after, tail)
