"""What tests of a real agent under `pmem run` ask: what the model saw, what the bank holds."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from real_agents import Bench, Ear, Model

from pmem.agents.protocol import AgentAdapter, HookLine
from pmem.core.decision import HEADER
from pmem.hook.line import hook_command

PMEM = (sys.executable, "-m", "pmem")
#: A build that fails twice alike, something else, the same build proposed again.
BUILDS = [
    *({"shell": "make build"}, {"shell": "make build"}),
    *({"shell": "cat Makefile"}, {"shell": "make build"}),
]


def start(
    bench: Bench, session: Ear, adapter: AgentAdapter, run_dir: Path, *args: str
) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment that an adapter makes of these arguments."""
    line = HookLine(hook_command(adapter.name, seconds=10))
    launch = adapter.launch(str(bench.program), args, line, run_dir, bench.env, bench.project)
    return list(launch.argv), {**launch.env, **session.env}


def counts(played: Model) -> list[int]:
    """How often each request to the model holds a reminder."""
    return [body.count(HEADER) for body in played.bodies()]


def place(request: Mapping[str, Any]) -> str:
    """Where the one reminder in a request to the model stands: in the `result` of a call (with
    the call's id, where there is one), else in whose words.
    """
    body = request["body"]
    items = body.get("messages") or body.get("input") or body.get("contents")
    (item,) = [i for i in items if HEADER in json.dumps(i, ensure_ascii=False)]
    blocks = [item, *(b for b in item.get("content") or item.get("parts") or () if b != item)]
    for block in blocks:
        if not isinstance(block, dict) or HEADER not in json.dumps(block, ensure_ascii=False):
            continue
        if "functionResponse" in block:
            return "result"
        for key in ("tool_call_id", "tool_use_id", "call_id"):
            if key in block:
                return f"result {block[key]}"
    return str(item["role"])


def attempts(bench: Bench, command: str = "make build") -> dict[str, Any]:
    """What the project's bank keeps of a command, as `pmem bank list --json` tells it."""
    listed = json.loads(bench.run([*PMEM, "bank", "list", "--json"]).stdout)
    (entry,) = [e for e in listed["procedural"] if e.get("command") == command]
    found: dict[str, Any] = entry
    return found


def steps(bench: Bench) -> list[dict[str, Any]]:
    """The steps of the newest session, as `pmem log --json` tells them."""
    return [json.loads(line) for line in bench.run([*PMEM, "log", "--json"]).stdout.splitlines()]


def left(bench: Bench) -> set[str]:
    """The files left behind outside of pmem's own places; ids and times in names are stars.

    Locks are left out, and what a database has not tidied up yet: whether they are there depends
    on the moment.
    """
    moment = (".lock", "-wal", "-shm")
    ours = re.compile(r"project/\.pmem/|home/\.local/state/pmem/")
    names = {name for name in bench.files() if not ours.match(name) and not name.endswith(moment)}
    # The bench's own name first: behind letters that look like digits it would go in part.
    alike = {re.sub(r"-(bare|pmem)-", "*", name) for name in names}
    return {re.sub(r"[0-9a-f-]{8,}|\d+", "*", name) for name in alike}
