"""The session of the tests, which is only its socket: one lost client costs no other its event."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from real_agents import Ear

from pmem.agents.scripted import ScriptedAgent
from pmem.core.event import SILENT, Answer, Event, UserMessage
from pmem.hook.line import hook_command

SAID = json.dumps({"event": "user", "text": "build it"}).encode()
HEAD = b"pmem1 token scripted\n"


@pytest.mark.parametrize(
    "sent", [b"", HEAD, HEAD + SAID[:9], HEAD + SAID], ids=["nothing", "head", "torn", "whole"]
)
def test_what_comes_after_a_client_that_was_killed_is_heard(
    ear: Callable[..., Ear], sent: bytes, tmp_path: Path
) -> None:
    gone: list[socket.socket] = []

    def leaves(event: Event) -> Answer:
        for link in gone:  # before it hears its answer
            link.close()
        return SILENT

    session = ear(ScriptedAgent(), leaves)
    link = socket.socket(socket.AF_UNIX)
    link.connect(session.env["PMEM_SOCK"])
    link.sendall(sent)
    gone.append(link)
    if sent == HEAD + SAID:
        link.shutdown(socket.SHUT_WR)
    else:
        link.close()
    told = json.dumps({"event": "user", "text": "and again"}).encode()
    line = hook_command("scripted", seconds=8)
    subprocess.run(["/bin/sh", "-c", line], input=told, env=session.env, check=True)
    session.wait(UserMessage, 1 + (sent == HEAD + SAID))
    assert session.events[-1] == UserMessage("and again")
