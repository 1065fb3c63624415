"""The scripted agent: it looks like an agent CLI and really works in the project it stands in.

It runs its commands, tells pmem every step through the hook line in PMEM_HOOK, and reads the
answers; it has no other memory than what it says on the screen. Its one piece of wit: where a
reminder names another way, it takes that way. Ends 0 when the tests passed, 1 when not.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmem.core.decision import HEADER
from pmem.demo.screen import Screen

TASK = "Get greet ready for its release. The tests must pass."
TEST = "sh test.sh"
#: How often the agent tries one command before it gives up.
PATIENCE = 4


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that was run: its exit code and what it printed."""

    exit_code: int
    output: str


class Hooks:
    """The way to pmem: one event in, its answer (or None for silence) out."""

    def __init__(self, line: str, cwd: Path) -> None:
        self.line = line
        self.cwd = cwd

    def tell(self, event: str, **more: Any) -> dict[str, Any] | None:
        """Tell one event; without a hook line, or on any trouble, the answer is silence."""
        if not self.line:
            return None
        payload = json.dumps({"event": event, **more}).encode()
        done = subprocess.run(["/bin/sh", "-c", self.line], input=payload, capture_output=True)
        try:
            answer = json.loads(done.stdout) if done.stdout.strip() else None
        except ValueError:
            return None
        return answer if isinstance(answer, dict) else None


class Agent:
    """Plays its part on a screen; `heard` is the last reminder it was given."""

    def __init__(self, screen: Screen, hooks: Hooks, cwd: Path) -> None:
        self.screen = screen
        self.hooks = hooks
        self.cwd = cwd
        self.heard = ""

    def play(self) -> int:
        """The whole story; returns the exit code."""
        self.screen.line("scripted agent", "1;35")
        self.screen.line(f"in {self.cwd}", "2")
        self.screen.line()
        self.hooks.tell("started", how="startup")
        self.told_by_user(TASK)
        self.think("First the tests.")
        self.run(TEST)
        self.think("Odd. A hiccup? Once more.")
        self.run(TEST)
        self.think("No hiccup. What do the notes say?")
        self.run("cat CONTRIBUTING.md")
        self.run("PHRASES=phrases.txt sh test.sh")
        self.think("Good. Which release is it?")
        self.run("cat VERSION")
        self.forget()
        self.think("Before I tag it, the tests once more.")
        passed = self.test()
        words = "The tests pass: ready to tag." if passed else "I cannot get the tests to pass."
        self.hooks.tell("finished", message=words)
        self.hooks.tell("ended")
        self.think(words)
        return 0 if passed else 1

    def test(self) -> bool:
        """Run the tests as they come to mind, again if they fail, or as a reminder has it."""
        for _ in range(PATIENCE):
            self.heard = ""
            ran = self.run(TEST)
            if ran is not None and ran.exit_code == 0:
                return True
            way = other_way(self.heard, TEST)
            if way is not None:
                self.think(f"I do not remember it, but there was a way: {way}")
                ran = self.run(way)
                return ran is not None and ran.exit_code == 0
            self.think("Once more.")
        return False

    def run(self, command: str) -> Ran | None:
        """Propose a command, and run it unless it was put back (then None)."""
        screen = self.screen
        screen.typed(command, "$ ", "1;36")
        screen.pause(0.3)
        action = {"kind": "command", "text": command, "cwd": str(self.cwd)}
        answer = self.hooks.tell("proposed", action=action)
        self.hear(answer)
        if answer is not None and answer.get("hold"):
            screen.line("put back, once: not run", "33", "  ")
            screen.pause(0.6)
            return None
        began = time.time()
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        ran = Ran(done.returncode, done.stdout.decode("utf-8", "replace"))
        screen.output(ran.output)
        if ran.exit_code:
            screen.line(f"exit {ran.exit_code}", "31", "  ")
        screen.pause(0.6)
        step = {
            "kind": "command",
            "action": command,
            "observation": ran.output,
            "exit_code": ran.exit_code,
            "cwd": str(self.cwd),
            "started": began,
            "seconds": round(time.time() - began, 3),
        }
        self.hear(self.hooks.tell("observed", step=step))
        return ran

    def hear(self, answer: Mapping[str, Any] | None) -> None:
        """Read a reminder, and show it as the agent's own interface shows a hook's message."""
        if answer is None or not answer.get("reminder"):
            return
        self.heard = str(answer["reminder"])
        told = self.heard.removeprefix(HEADER).partition("\n")[0].strip()
        self.screen.banner(told, answer.get("citations") or [])
        self.screen.pause(3.0)

    def told_by_user(self, text: str) -> None:
        """A message of the user arrives."""
        self.screen.typed(text, "> ", "1")
        self.screen.pause(0.8)
        self.hear(self.hooks.tell("user", text=text))

    def forget(self) -> None:
        """The context is compacted: what was seen so far is gone, but for pmem's record."""
        self.hooks.tell("started", how="compact")
        self.screen.line()
        self.screen.line("── context compacted: what the agent saw above is gone ──", "2")
        self.screen.line()
        self.screen.pause(1.0)

    def think(self, text: str) -> None:
        """Say a thought."""
        self.screen.typed(text, "● ")
        self.screen.pause(0.5)


def other_way(reminder: str, command: str) -> str | None:
    """The command a reminder names in code quotes beside the one that it concerns.

    >>> other_way("`make` failed at steps 1, 2; `make CC=gcc` passed at step 4.", "make")
    'make CC=gcc'
    """
    named = re.findall(r"`([^`\\n]+)`", reminder)
    return next((way for way in named if way != command and command.split()[-1] in way), None)


def main(argv: list[str]) -> int:
    """`python -m pmem.demo.agent [--fast]`, in the directory of the project."""
    speed = 0.0 if "--fast" in argv else demo_speed(os.environ)
    cwd = Path.cwd()
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    screen = Screen(sys.stdout, os.environ, speed)
    return Agent(screen, Hooks(os.environ.get("PMEM_HOOK", ""), cwd), cwd).play()


def demo_speed(env: Mapping[str, str]) -> float:
    """PMEM_DEMO_SPEED: 1 is as made to be watched, 2 twice as fast, 0 waits for nothing."""
    try:
        speed = float(env.get("PMEM_DEMO_SPEED", "1"))
    except ValueError:
        return 1.0
    return speed if speed >= 0 else 1.0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
