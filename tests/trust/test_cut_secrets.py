"""A long output is cut to its head and its tail: a secret at the cut is taken out, not halved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from corpus import Sample, secrets

from pmem.agents.claude_hooks import ClaudeHooks
from pmem.agents.excerpt import MAX_OBSERVATION, excerpt
from pmem.core.captured import HEAD, TAIL
from pmem.core.event import Observed
from pmem.core.redact import redact
from pmem.session.shell_intake import to_event
from pmem.terminal.capture import Capture

FILLER = "a line of plain words\n" * 6000
ONE_OF_EACH = list({sample.kind: sample for sample in secrets()}.values())
#: Of a secret so many characters in a row must not be seen.
TOLD = 10


def shell(text: str) -> str:
    """What the session takes in of a command's output."""
    capture = Capture()
    data = text.encode()
    for at in range(0, len(data), 4096):
        capture.feed(data[at : at + 4096])
    event = to_event({"type": "finished", "command": "cat", "output": capture.text()})
    assert isinstance(event, Observed)
    return event.step.observation


def at_the_cuts(sample: Sample, head: int, tail: int) -> Iterator[str]:
    """A long text in which the sample lies across the end of the head, or the start of the tail."""
    for inside in {1, len(sample.text) // 3, len(sample.text) // 2, len(sample.text) - 2}:
        yield FILLER[: head - inside - 1] + "\n" + sample.text + "\n" + FILLER
        rest = FILLER[: tail - (len(sample.text) - inside) - 1]
        yield FILLER + sample.text + "\n" + rest


@pytest.mark.parametrize(
    ("cut", "head", "tail"),
    [
        (excerpt, MAX_OBSERVATION // 3, MAX_OBSERVATION - MAX_OBSERVATION // 3),
        (shell, HEAD, TAIL),
    ],
    ids=["hook", "shell"],
)
def test_a_secret_at_the_cut_does_not_pass(cut: Callable[[str], str], head: int, tail: int) -> None:
    passed = []
    for sample in ONE_OF_EACH:
        for text in at_the_cuts(sample, head, tail):
            left = redact(cut(text))
            assert len(left) <= head + tail + 100
            assert "left out …]" in left
            pieces = {p[i : i + TOLD] for p in sample.parts for i in range(len(p) - TOLD + 1)}
            if any(piece in left for piece in pieces):
                passed.append(sample.kind)
    assert passed == []


@pytest.mark.parametrize("cut", [excerpt, shell], ids=["hook", "shell"])
@pytest.mark.parametrize(
    "text",
    [
        f"before\n<private>hidden\n{FILLER}hidden</private>\nafter\n",
        f"{FILLER}<private>hidden\n</private>{FILLER}after",
    ],
    ids=["over the gap", "in the gap"],
)
def test_a_private_span_whose_end_is_left_out_does_not_pass(
    cut: Callable[[str], str], text: str
) -> None:
    left = redact(cut(text))
    assert "hidden" not in left and "after" in left


def test_a_secret_where_claude_code_put_a_long_output_into_a_file(tmp_path: Path) -> None:
    sample = next(s for s in ONE_OF_EACH if s.kind == "private key block")
    kept = tmp_path / "output.txt"
    for text in at_the_cuts(sample, 500, MAX_OBSERVATION * 2 // 3):
        kept.write_text(text)
        response = {"stdout": text[:2000], "stderr": "", "persistedOutputPath": str(kept)}
        told = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": response}
        (event,) = ClaudeHooks().events(json.dumps({**told, "tool_input": {}}).encode())
        assert isinstance(event, Observed)
        left = redact(event.step.observation)
        assert not any(part in left for part in sample.parts)
