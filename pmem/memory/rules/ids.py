"""Ids of the entries the rules write: readable, and different for different texts."""

from __future__ import annotations

from hashlib import blake2s

from pmem.core.bank import normal_id

#: A longer text is cut, and told apart by a hash.
MAX_WORDS = 36


def entry_id(kind: str, text: str) -> str:
    """An id such as `remedy-npm-test`.

    >>> entry_id("missing", "jq")
    'missing-jq'
    """
    line = " ".join(text.split())
    if len(line) <= MAX_WORDS:
        return normal_id(f"{kind} {line}")
    digest = blake2s(text.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return normal_id(f"{kind[:12]} {line[: 34 - len(kind[:12])]}") + f"-{digest}"
