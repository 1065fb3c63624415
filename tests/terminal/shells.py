"""Shells in rigs: their rc files, entering commands, sessions that remind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rig import Rig

SHELLS = ["bash", "zsh", "fish"]
#: The rc file of each shell: a short prompt, and a history that leaves out ` command`.
RC = {
    "bash": (".bashrc", "PS1='> '; HISTCONTROL=ignoreboth\n"),
    "zsh": (".zshrc", "PS1='> '; setopt hist_ignore_space; unsetopt prompt_sp\nHISTSIZE=1000\n"),
    "fish": (".config/fish/config.fish", "function fish_prompt; printf '> '; end\n"),
}
REMINDER = {"text": "said so", "held": False, "citations": [{"id": "entry", "steps": [2]}]}

Open = Callable[..., Rig]


def write_rc(home: Path, name: str, more: str = "", *, first: bool = True) -> None:
    file, text = RC[name]
    path = home / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((text if first else "") + more + "\n")


def run(rig: Rig, command: str) -> dict[str, Any]:
    """Enter a command and wait until it is told as finished and all of it is shown."""
    before = count(rig, "finished")
    rig.line(command)
    rig.until(lambda: count(rig, "finished") > before)
    rig.settle()
    return rig.finished(before)


def count(rig: Rig, kind: str) -> int:
    return sum(message["type"] == kind for message in rig.messages)


def reminds(of: str, when: str, banner: Mapping[str, Any] = REMINDER) -> Callable[..., Any]:
    """A session that answers the messages of one type about one command with a banner."""

    def answer(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return banner if message["type"] == when and of in message["command"] else None

    return answer
