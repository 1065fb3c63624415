"""A reminder as the human reads it, in plain lines, for agents that show a message of a hook."""

from __future__ import annotations

from pmem.core.decision import HEADER
from pmem.core.event import Answer, Citation
from pmem.core.text import clean, shorten

#: A banner cites at most this many entries, each with at most so many words and characters.
MAX_CITED = 3
MAX_WORDS = 25
MAX_CHARS = 140
HELD = "held back once; proposed again it runs"


def human_text(answer: Answer) -> str:
    """The reminder, the entries it cites with their steps, and where to see more.

    "" if the human is to be shown nothing.
    """
    if answer.reminder is None or not answer.to_human:
        return ""
    lines = [f"{HEADER} {answer.reminder.text}"]
    lines += [_cited(citation) for citation in answer.citations[:MAX_CITED]]
    if answer.hold:
        lines.append(HELD)
    lines.append("more: pmem bank show " + (answer.reminder.entries or ("ID",))[0])
    return "\n".join(lines)


def _cited(citation: Citation) -> str:
    content = shorten(" ".join(clean(citation.content).split()), MAX_WORDS, MAX_CHARS)
    steps = ", ".join(str(n) for n in citation.steps)
    where = f" (step{'s' if len(citation.steps) > 1 else ''} {steps})" if steps else ""
    return f"· {citation.id}{where}: {content}"
