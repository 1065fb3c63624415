"""Texts as sequences of comparable pieces, in every script."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"(?P<dense>[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]+)"
    r"|--?[a-z][\w-]*|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]"
    r"(?:[\w./:@%+=-]*[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff])?",
    re.IGNORECASE,
)
_ENDING = re.compile(r"(?<=[a-z]{4})(?:ing|ed|es|s)\Z")


def tokens(text: str) -> list[str]:
    """Words in lower case without common English endings; paths and options whole; Chinese,
    Japanese and Korean as pairs of neighbouring characters."""
    found: list[str] = []
    for m in _PIECE.finditer(text):
        piece = m[0].casefold()
        if m["dense"] is None:
            found.append(_ENDING.sub("", piece) if piece.isalpha() else piece)
        elif len(piece) == 1:
            found.append(piece)
        else:
            found += (piece[i : i + 2] for i in range(len(piece) - 1))
    return found
