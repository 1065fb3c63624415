"""The corpus of secrets: none passes; and of look-alikes: none is touched."""

from __future__ import annotations

import random

import pytest
from corpus import look_alikes, secrets

from pmem.core.redact import redact

#: What can stand around a secret where an agent sees it.
AROUND = (
    "{}",
    "+{}",
    "2030-01-01 12:00:01 ERROR worker: {}",
    "   12 | {}",
    "비밀 정보: {}",
    "{}\n{}",
    "echo done; {}",
)


def test_the_corpus_is_as_large_as_it_must_be() -> None:
    for made in (secrets(), look_alikes()):
        assert len(made) >= 300
        assert len({sample.kind for sample in made}) >= 40
        assert len({sample.text for sample in made}) > 300


@pytest.mark.parametrize("seed", range(3))
def test_no_secret_of_the_corpus_passes(seed: int) -> None:
    dice = random.Random(seed)
    passed = []
    for sample in secrets(seed):
        line = dice.choice(AROUND).replace("{}", sample.text)
        left = redact(f"before\n{line}\nafter\n")
        if any(part in left for part in sample.parts):
            passed.append((sample.kind, line, left))
        assert left.startswith("before\n") and left.endswith("\nafter\n")
        assert "…[redacted " in left
        assert redact(left) == left
    assert passed == []


@pytest.mark.parametrize("seed", range(3))
def test_no_look_alike_of_the_corpus_is_altered(seed: int) -> None:
    altered = [s for s in look_alikes(seed) if redact(f"a\n{s.text}\nb") != f"a\n{s.text}\nb"]
    assert altered == []


@pytest.mark.parametrize("seed", range(2))
def test_a_look_alike_beside_a_secret_stays_whole(seed: int) -> None:
    dice = random.Random(seed)
    plain = look_alikes(seed)
    for sample in secrets(seed):
        beside = dice.choice(plain).text
        left = redact(f"{beside}\n{sample.text}\n{beside}")
        assert left.startswith(f"{beside}\n") and left.endswith(f"\n{beside}"), sample.kind
