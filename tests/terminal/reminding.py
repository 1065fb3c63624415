"""reminding.py DIR: bash under the relay, with a session that reminds of every failure, and too
late of every `less`."""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from pathlib import Path

from pmem.terminal.link import Link

HOST = Path(__file__).with_name("host.py")
BANNER = {
    "text": "테스트가 두 번 같은 이유로 실패했습니다 (3, 5단계). Nothing changed since.",
    "held": False,
    "citations": [{"id": "npm-test", "content": "npm test: failed", "steps": [3, 5]}],
}
LATE = {"text": "Read #(touch ran)before #[fg=red]#{pane_id}, 50%H", "held": False}


def main() -> None:
    ours, theirs = socket.socketpair()
    theirs.set_inheritable(True)
    argv = [sys.executable, str(HOST), "--link", str(theirs.fileno())]
    argv += ["--nonce", "0123456789abcdef", "--shell", "bash", "--dir", sys.argv[1]]
    if os.fork() == 0:
        os.execv(sys.executable, argv)
    theirs.close()
    link = Link(ours)
    while link.alive:
        select.select([link.fileno()], [], [])
        for message in link.receive():
            wrong = message["type"] == "finished" and message["exit_code"]
            banner = BANNER if wrong else None
            if message["type"] == "entered" and "less" in message["command"]:
                time.sleep(0.6)
                banner = LATE
            said = {"banner": banner, "prohibits": False}
            link.send({"type": "answer", "n": message["n"], **said})
    os.wait()


if __name__ == "__main__":
    main()
