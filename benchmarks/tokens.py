"""What a memory step costs: the size of a model's prompts over a session, and what is cached.

`python benchmarks/tokens.py [--json] [FILE…]`: over an invented session of 200 steps, or over
recorded ones (neutral lines). No model is called. A token is taken as four characters of English,
which is near enough to see whether prompts grow.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from pmem.evaluation.replay import replay
from pmem.memory.arms import memory_agent
from pmem.models.protocol import Reply, Request, Usage

#: Steps by which the table is cut.
STRETCHES = ((0, 25), (25, 50), (50, 100), (100, 10_000))


class Counting:
    """A model that keeps one fact a step, is silent, and measures what it is sent."""

    name = "counting"
    native_tools = True

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def ask(self, request: Request) -> Reply:
        """Save an entry in phase 1, nothing in phase 2."""
        from pmem.models.protocol import ToolCall

        self.requests.append(request)
        n = len(self.requests)
        if request.phase == "decide":
            return Reply("<no_intervention/>")
        fact = {"id": f"fact-{n}", "content": f"Fact {n} of this session, in one sentence. " * 3}
        return Reply("", (ToolCall(f"c{n}", "memory_save_knowledge", fact),), Usage())

    def close(self) -> None:
        """Nothing runs."""


def characters(request: Request) -> tuple[int, int]:
    """Characters of a request: all of it, and what the next memory step has again."""
    tools = sum(len(t.name) + len(t.description) + len(str(t.parameters)) for t in request.tools)
    texts = [len(m.text) + sum(len(r.text) for r in m.results) for m in request.messages]
    return tools + len(request.system) + sum(texts), tools + len(request.system) + texts[0]


def invented(steps: int = 200) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A session that builds, fails, edits and looks around, with outputs of some length."""
    header = {"task": "Make all parts build and pass their tests. Do not touch vendor/. " * 4}
    lines = []
    for n in range(1, steps + 1):
        line: dict[str, Any] = {"step": n, "kind": "command", "exit_code": 0}
        if n % 4 == 1:
            line |= {"action": f"make part{n % 7}", "exit_code": 2}
            line["observation"] = "compiling\n" * 30 + f"part{n}.c:{n}: error: unknown type\n"
        elif n % 4 == 2:
            line |= {"kind": "edit", "action": f"Edit src/part{n}.c", "observation": "updated"}
        else:
            line |= {"action": f"sed -n 1,80p src/part{n}.c"}
            line["observation"] = f"int part{n}(void);  /* as it was */\n" * 60
        lines.append(line)
    return header, lines


def recorded(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A file of neutral lines."""
    header, *lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
    return header, lines


def measured(
    header: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[int, Request]]:
    """Every request of a session with the number of the step it was made after."""
    model = Counting()
    memory = memory_agent("selective", model)
    assert memory is not None
    seen = 0

    class At:
        """The memory agent, noting where the session is."""

        name = memory.name

        def manage(self, moment: Any) -> Any:
            nonlocal seen
            seen = moment.last_step.number if moment.last_step else 0
            return memory.manage(moment)

        def decide(self, moment: Any) -> Any:
            return memory.decide(moment)

    made: list[tuple[int, Request]] = []
    asked = model.ask

    def ask(request: Request) -> Reply:
        made.append((seen, request))
        return asked(request)

    model.ask = ask  # type: ignore[method-assign]
    replay(header, lines, At())
    yield from made


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("files", nargs="*", type=Path)
    given = parser.parse_args()
    sessions = [recorded(path) for path in given.files] or [invented()]
    requests = [one for header, lines in sessions for one in measured(header, lines)]
    steps = sum(len(lines) for _, lines in sessions)
    table: dict[str, Any] = {}
    for first, last in STRETCHES:
        sizes = [characters(r) for n, r in requests if first <= n < last and r.phase == "manage"]
        again = [characters(r) for n, r in requests if first <= n < last and r.phase == "decide"]
        if sizes:
            name = f"steps {first} to {last}" if last < 10_000 else f"from step {first}"
            table[name] = {
                "memory_steps": len(sizes),
                "phase_1": round(statistics.median(s for s, _ in sizes) / 4),
                "phase_2": round(statistics.median(s for s, _ in again) / 4),
                "prefix": round(statistics.median(p for _, p in sizes) / 4),
            }
    calls = {"steps": steps, "calls": len(requests)}
    if given.json:
        print(json.dumps({**table, "calls": calls}))
        return
    print("| | memory steps | tokens of phase 1 | of phase 2 | of these the same in every step |")
    print("|---|---|---|---|---|")
    for name, row in table.items():
        print(f"| {name} | {' | '.join(str(figure) for figure in row.values())} |")
    print(f"\n{calls['calls']} calls in {steps} steps")


if __name__ == "__main__":
    main()
