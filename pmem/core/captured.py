"""A command's output as the terminal captures it, and as the session keeps it of that.

The terminal moves bytes and looks into none; so it hands over a margin beside what is kept, by
which the session sees what would be cut in two.
"""

from __future__ import annotations

import re

#: What is kept from the start and from the end of an output, in bytes.
HEAD, TAIL = 8 << 10, 24 << 10
#: What is handed over beside either.
MARGIN = 8 << 10
#: Stands where an output was cut, with how much of it is gone.
GAP = "\n[… {} bytes of output left out …]\n"

_GAP = re.compile(re.escape(GAP).replace(r"\{\}", r"(\d{1,18})"))


def within(output: str) -> str:
    """A captured output without its margins, and without secrets at the cut."""
    from pmem.core.excerpt import around_a_gap, excerpt

    gap = _GAP.search(output)
    if gap is None:
        return excerpt(output, HEAD + TAIL)
    before, after = output[: gap.start()], output[gap.end() :]
    head, tail = around_a_gap(before, after, HEAD, TAIL)
    cut = len(before) - len(head) + len(after) - len(tail)
    return head + GAP.format(int(gap[1]) + cut) + tail
