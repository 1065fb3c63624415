"""The eight agents, and in what they differ when they are driven: one row each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from real_agents import Bench

LAST = {"text": "It does not build."}
#: How mini-swe-agent is told that the work is done.
SUBMIT = {"shell": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo It does not build."}


def _no_hooks(bench: Bench) -> Sequence[str]:
    return ()


@dataclass(frozen=True)
class Agent:
    """How an agent is asked to work without a terminal, and on its screen.

    `ready` is what its screen shows when it takes a prompt ("" for one that has it already),
    `leave` what ends it. `seen` is how a banner looks there, "" for an agent that shows none.
    `told_alone` says that nobody is asked after the first hook that puts a call back.
    `beside` says where the reminder with a result stands in a request, and `stays` whether it is
    in the later ones too. `own` sets up a hook of the user's that leaves a line in HOME/own for
    each call, and says with what arguments before the others it is found.
    """

    name: str
    headless: tuple[str, ...]
    on_screen: tuple[str, ...]
    ready: str
    leave: str
    seen: str = ""
    beside: str = "user"
    stays: bool = True
    told_alone: bool = False
    own: Callable[[Bench], Sequence[str]] = _no_hooks
    last: dict[str, Any] | None = None

    def play(self, *steps: Any) -> list[Any]:
        """A script that ends as this agent ends."""
        return [*steps, self.last or LAST]


def _line(bench: Bench) -> str:
    return f"echo own >> {bench.home}/own"


def _claude_hook(bench: Bench) -> Sequence[str]:
    hook = {"type": "command", "command": _line(bench)}
    return "--settings", json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}})


def _codex_hook(bench: Bench) -> Sequence[str]:
    group = f'{{matcher="*",hooks=[{{type="command",command="{_line(bench)}"}}]}}'
    with (bench.home / ".codex" / "config.toml").open("a") as config:
        config.write(f"\n[hooks]\nPreToolUse=[{group}]\n")
    return ("--dangerously-bypass-hook-trust",)


def _gemini_hook(bench: Bench) -> Sequence[str]:
    file = bench.home / ".gemini" / "settings.json"
    hook = {"type": "command", "command": _line(bench)}
    hooks = {"BeforeTool": [{"matcher": "*", "hooks": [hook]}]}
    file.write_text(json.dumps({**json.loads(file.read_text()), "hooks": hooks}))
    return ()


def _qwen_hook(bench: Bench) -> Sequence[str]:
    hook = {"type": "command", "command": _line(bench)}
    hooks = {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}
    (bench.home / ".qwen").mkdir()
    (bench.home / ".qwen" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    return ()


def _opencode_hook(bench: Bench) -> Sequence[str]:
    plugin = bench.home / "own.mjs"
    plugin.write_text(
        'import fs from "node:fs"\n'
        f'const log = () => fs.appendFileSync("{bench.home}/own", "own\\n")\n'
        'export const Own = async () => ({ "tool.execute.before": async () => log() })\n'
    )
    file = bench.home / ".config" / "opencode" / "opencode.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "plugin": [plugin.as_uri()]}))
    return ()


def _copilot_hook(bench: Bench) -> Sequence[str]:
    place = bench.home / "plugin"
    place.mkdir()
    hooks = {"preToolUse": [{"type": "command", "bash": _line(bench), "timeoutSec": 10}]}
    manifest = {"name": "own", "version": "0.0.1", "hooks": "hooks.json"}
    (place / "plugin.json").write_text(json.dumps(manifest))
    (place / "hooks.json").write_text(json.dumps({"version": 1, "hooks": hooks}))
    return "--plugin-dir", str(place)


def _pi_hook(bench: Bench) -> Sequence[str]:
    directory = bench.home / ".pi" / "agent" / "extensions"
    directory.mkdir()
    (directory / "own.js").write_text(
        'import fs from "node:fs"\n'
        f'const log = () => fs.appendFileSync("{bench.home}/own", "own\\n")\n'
        'export default (pi) => pi.on("tool_call", async () => log())\n'
    )
    return ()


UNBOUND = "--dangerously-bypass-approvals-and-sandbox"
QWEN = ("--auth-type", "openai", "--approval-mode", "yolo")
MINI = ("-m", "openai/scripted", "-y", "-t", "build it")
REMINDER = "[MEMORY REMINDER] `make build` failed twice alike"

AGENTS = (
    Agent(
        "claude",
        ("-p", "build it", "--allowedTools", "Bash"),
        ("--permission-mode", "default", "--allowedTools", "Bash(make:*)", "Bash(cat:*)"),
        ready="? for shortcuts",
        leave="/exit",
        seen=f"says: {REMINDER}",
        beside="system",
        own=_claude_hook,
    ),
    Agent(
        "codex",
        ("exec", "--skip-git-repo-check", UNBOUND, "build it"),
        (UNBOUND,),
        ready="Ask Codex to do anything",
        leave="/quit",
        seen=REMINDER,
        beside="developer",
        own=_codex_hook,
    ),
    Agent(
        "gemini",
        ("--yolo", "-m", "gemini-2.5-pro", "-p", "build it"),
        ("-m", "gemini-2.5-pro", "--yolo"),
        ready="Type your message",
        leave="/quit",
        seen=REMINDER.replace("`", ""),  # it shows Markdown
        beside="result",
        own=_gemini_hook,
    ),
    Agent(
        "qwen",
        (*QWEN, "-p", "build it"),
        QWEN,
        ready="Type your message",
        leave="/quit",
        beside="result",
        own=_qwen_hook,
    ),
    Agent(
        "opencode",
        ("run", "build it"),
        (),
        ready="Ask anything",
        leave="C-c",
        seen="[MEMORY REMINDER]",
        stays=False,
        own=_opencode_hook,
    ),
    Agent(
        "copilot",
        ("--allow-all-tools", "-s", "-p", "build it"),
        ("--allow-all-tools",),
        ready="/ commands",
        leave="/exit",
        beside="result",
        own=_copilot_hook,
    ),
    Agent(
        "pi",
        ("-p", "build it"),
        (),
        ready="scripted",
        leave="/quit",
        seen="[MEMORY REMINDER]",
        stays=False,
        told_alone=True,
        own=_pi_hook,
    ),
    Agent(
        "mini",
        (*MINI, "--exit-immediately"),
        MINI,
        ready="",
        leave="Enter",
        seen=REMINDER,
        stays=False,
        last=SUBMIT,
    ),
)
