"""What one step costs the rules, with few and with very many steps behind it.

`python benchmarks/rules.py [--steps N,N,…] [--json]`. Milliseconds of processor time a step, guard
and bank included, with 500 entries in the bank: a command is proposed, then observed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from pmem.core.bank import MAX_ENTRIES, BankOp, Entry, MemoryBank
from pmem.core.event import Observed, Proposed, UserMessage
from pmem.core.step import Step
from pmem.memory.rules import Rules
from pmem.session.in_memory import BankInMemory, LogInMemory
from pmem.session.outside import Channel, Outside
from pmem.session.session import Session

#: Steps measured at each length; their median is told.
MEASURED = 300
RULES = "\n".join(f"- Never run `tool-{n} --force`." for n in range(30))


class Full(BankInMemory):
    """A bank that stays at its limit, as the store keeps it."""

    def apply(self, ops: Sequence[BankOp]) -> None:
        """Carry the operations out; the oldest entries go."""
        super().apply(ops)
        while len(self.bank.entries) > MAX_ENTRIES:
            self.bank.remove(next(iter(self.bank.entries)))


class Forgetful(LogInMemory):
    """A log of which nothing stays in memory, as of the one on disk."""

    def step(self, step: Step) -> None:
        """Forget it."""

    def decision(self, record: dict[str, Any]) -> None:
        """Forget it."""


def steps(first: int, count: int) -> list[Step]:
    """Work as agents do it: reads, edits, commands, one in eight fails."""
    made = []
    for n in range(first, first + count):
        match n % 8:
            case 0:
                made.append(Step(0, "edit", f"Edit src/part{n % 37}.py\n--- old\na", "updated"))
            case 1 | 2:
                made.append(Step(0, "read", f"Read src/part{n % 53}.py", "x = 1\n" * 40))
            case 3:
                output = f"src/part{n % 37}.py:{n % 90}: AssertionError: {n} != 3\n"
                made.append(Step(0, "command", "pytest -x", output, exit_code=1))
            case _:
                command = f"grep -rn name{n} src | head -20 && python tool.py --n {n % 500}"
                made.append(Step(0, "command", command, "found\n" * 10, exit_code=0))
    return made


def measure(behind: int) -> dict[str, float]:
    """Median and 95th percentile of a step with `behind` steps behind it, in milliseconds."""
    bank = MemoryBank(
        entries=[
            Entry("knowledge", f"fact-{n}", f"Part {n} is at src/part{n}.py.")
            for n in range(MAX_ENTRIES)
        ]
    )
    kept = Full(bank)
    outside = Outside(kept, Forgetful(), Rules(), rule_files=lambda: [("AGENTS.md", RULES)])
    session = Session(outside, id="bench", project="/p", task="Make the tests pass.")
    channel = Channel("bench", can_hold=True)
    session.handle(UserMessage("Make the tests pass."), channel)
    for step in steps(0, behind):
        session.handle(Proposed(step.proposed), channel)
        session.handle(Observed(step), channel)
    taken = []
    for step in steps(behind, MEASURED):
        began = time.process_time()
        session.handle(Proposed(step.proposed), channel)
        session.handle(Observed(step), channel)
        taken.append((time.process_time() - began) * 1000)
    taken.sort()
    return {
        "median_ms": round(statistics.median(taken), 3),
        "p95_ms": round(taken[int(len(taken) * 0.95)], 3),
    }


def main() -> None:
    """Print a line for each length, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", default="10,1000,100000", help="how many steps lie behind")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    lengths = [int(n) for n in options.steps.split(",")]
    results = {f"{n} steps": measure(n) for n in lengths}
    if options.json:
        print(json.dumps(results))
        return
    for name, figures in results.items():
        print(f"{name:>14}: median {figures['median_ms']} ms, 95 % {figures['p95_ms']} ms")


if __name__ == "__main__":
    main()
