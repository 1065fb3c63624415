"""mini-swe-agent, by a start script that stands between it, its model and its environment.

Tested with 2.4.6, headless and in a terminal. The program runs in its own interpreter with the
arguments it was given; model, environment and agent stay of the classes its user chose.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from pmem.agents.find import find_program
from pmem.agents.hooked import Hooked, Reader
from pmem.agents.protocol import HookLine, Launch

QUESTIONS = frozenset({"--help", "-h"})
START = Path(__file__).with_name("plugins") / "mini_start.py"
#: Installers write this where an interpreter's path is too long for a first line.
_LONG = re.compile(r"""'''exec' (?P<python>"[^"]+"|\S+) "\$0" "\$@\"""")


class MiniSweAgent(Hooked):
    """Princeton's mini-swe-agent."""

    name = "mini-swe-agent"
    title = "mini-swe-agent"
    binary = "mini"
    tells = True
    can_hold = True
    shows = True

    def find(self, env: Mapping[str, str]) -> Path | None:
        """On PATH, or where pip, pipx and uv put programs; another `mini` does not count."""
        found = find_program(self.binary, env)
        return found if found is not None and interpreter(found) else None

    def launch(
        self,
        program: str,
        args: Sequence[str],
        hook: HookLine,
        run_dir: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Launch:
        """The program in its own interpreter, behind the start script."""
        if QUESTIONS.intersection(args):
            return Launch([program, *args])
        env = os.environ if env is None else env
        cwd = Path.cwd() if cwd is None else cwd
        place = program if os.sep in program else shutil.which(program, path=env.get("PATH"))
        python = interpreter(cwd / place) if place else []
        if not python:
            remark = f"{program} is no Python script of mini-swe-agent's: pmem sees nothing"
            return Launch([program, *args], remark=remark)
        return Launch([*python, str(START), str(place), *args])

    def reader(self) -> Reader:
        """Of what the start script tells."""
        from pmem.agents.plugin_json import PluginEvents
        from pmem.agents.tool_calls import Tools

        return PluginEvents(Tools(commands={"bash"}, edits=(), reads=()))


def interpreter(program: Path) -> list[str]:
    """The words that run a script of mini-swe-agent's, [] for any other program."""
    try:
        text = program.read_bytes()[:4096].decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    first, _, rest = text.partition("\n")
    if not first.startswith("#!") or "minisweagent" not in rest:
        return []
    try:
        words = shlex.split(first[2:])
    except ValueError:
        return []
    if words and words[-1].endswith("/sh"):
        long = _LONG.search(rest)
        return [long["python"].strip('"')] if long is not None else []
    return words


MINI_SWE_AGENT = MiniSweAgent()
