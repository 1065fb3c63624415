"""A project, an agent that plays and a model that plays: what tests of a model's runs stand on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pmem.store.project import find_project
from pmem.store.session_log import read_decisions
from pmem.store.sessions import list_sessions

FACT = "db.h comes from libdb-dev, which is not installed (step 1)."
TOLD = "make failed at step 1: db.h is in libdb-dev, not installed."
#: Plays the action agent: its build fails, it looks around, it hears what it hears.
AGENT = """\
import json, os, subprocess, sys

def tell(event):
    done = subprocess.run(["/bin/sh", "-c", os.environ["PMEM_HOOK"]], input=json.dumps(event),
                          capture_output=True, text=True)
    told = json.loads(done.stdout)["reminder"] if done.stdout else ""
    print(event["event"], event.get("step", {}).get("action", ""), "->", told.split(chr(10))[0],
          flush=True)
    return bool(told)

def step(command, output, code):
    return tell({"event": "observed", "step": {"kind": "command", "action": command,
                 "observation": output, "exit_code": code, "cwd": os.getcwd()}})

tell({"event": "user", "text": "make the build pass"})
step("make", "main.c:3: fatal error: db.h: No such file", 2)
for n in range(200):
    if step(f"ls part{n}", f"part{n}", 0) or "--once" in sys.argv:
        break
"""
#: Plays the memory agent as a program.
MODEL = f"""\
#!/bin/sh
prompt=$(cat)
printf '%s\\n' "$PMEM_PHASE" >> "$LOG"
case "$PMEM_PHASE" in
manage)
  case "$prompt" in
  *"fatal error: db.h"*)
    cat <<'X'
<tool_call>
{{"name": "memory_save_knowledge", "arguments": {{"id": "db", "content": "{FACT}"}}}}
</tool_call>
X
  ;;
  *) echo "<no_intervention/>" ;;
  esac ;;
decide)
  case "$prompt" in
  *"Reminders so far"*) echo "<no_intervention/>" ;;
  *"fatal error: db.h"*) echo '<context_for_action entries="db">{TOLD}</context_for_action>' ;;
  *) echo "<no_intervention/>" ;;
  esac ;;
esac
"""


class Bench:
    """A project, an agent that plays, and a model that plays."""

    def __init__(self, project: Path, tmp_path: Path) -> None:
        self.project = project
        self.log = tmp_path / "asked"
        self.agent = tmp_path / "agent.py"
        self.agent.write_text(AGENT)
        self.model = tmp_path / "model.sh"
        self.model.write_text(MODEL)
        self.model.chmod(0o755)

    def pmem(
        self, *args: str, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pmem", *args],
            cwd=self.project,
            env={**os.environ, "LOG": str(self.log), **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def play(self, *options: str, once: bool = False, **env: str) -> str:
        """The scripted agent under memory; what it printed."""
        done = subprocess.run(
            self.line(options, once),
            cwd=self.project,
            env={**os.environ, "LOG": str(self.log), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        self.words = done.stderr
        return done.stdout

    def line(self, options: tuple[str, ...], once: bool) -> list[str]:
        """What starts the scripted agent under memory."""
        code = (
            "from pmem.cli.launch import launch; from pmem.cli.environment import Environment;"
            "from pmem.cli.options import StartOptions; import sys, json;"
            "sys.exit(launch(Environment.of_process(), json.loads(sys.argv[1]),"
            " StartOptions(**json.loads(sys.argv[2])), agent='scripted'))"
        )
        command = [sys.executable, str(self.agent), *(["--once"] if once else [])]
        given: dict[str, Any] = dict(option.split("=", 1) for option in options)
        if given.pop("yes", None):
            given["yes"] = True
        return [sys.executable, "-c", code, json.dumps(command), json.dumps(given)]

    @property
    def asked(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []

    @property
    def decisions(self) -> list[dict[str, Any]]:
        project = find_project(self.project, os.environ)
        return read_decisions(list_sessions(project)[0].path)[0]
