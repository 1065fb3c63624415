"""The client an agent's hook runs: `python -ISE client.py AGENT [SECONDS]`.

It carries the hook's payload from stdin to the session process and the answer back to stdout.
The wire, over the unix socket named by PMEM_SOCK: `pmem1 TOKEN AGENT` and a newline, then the
payload, then end of file; the answer is whatever comes back until end of file.

On any trouble it says nothing and exits 0: a hook never fails its agent. When the time is up, the
agent goes on without an answer, and the event is carried on behind it. Its start is most of what
it costs, so it imports only what the interpreter has in itself or loads in a moment.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import os
import sys

WIRE = b"pmem1"
#: How long an agent is held up at most, in seconds.
SECONDS = 0.5
#: How many times as long an agent may take to write its payload: then it holds up itself.
PATIENCE = 10
#: How long an event is carried on behind an agent that went on, in seconds.
BEHIND = 10.0


def ask(path: str, token: str, agent: str, payload: bytes, seconds: "float | None" = None) -> bytes:
    """The session's answer to one payload, as bytes.

    Raises OSError where the session cannot be reached, or not within `seconds` a transfer.
    """
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        link.settimeout(seconds)
        link.connect(path)
        link.sendall(b"%s %s %s\n" % (WIRE, os.fsencode(token), os.fsencode(agent)) + payload)
        link.shutdown(_socket.SHUT_WR)
        answer = b""
        while chunk := link.recv(65536):
            answer += chunk
        return answer
    finally:
        link.close()


def read_all(fd: int) -> bytes:
    """Everything up to end of file."""
    data = b""
    while chunk := os.read(fd, 1 << 20):
        data += chunk
    return data


def limit(seconds: float, behind: bool = False) -> None:
    """End this process, silent and with 0, after so many seconds; 0 lifts the limit.

    With `behind` it only lets the agent go then.
    """
    _signal.signal(_signal.SIGALRM, lambda *_: let_go() if behind else os._exit(0))
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def let_go() -> None:
    """End this process for the agent that waits for it, and go on behind it for a while.

    What was begun goes on where it stood, only nobody hears of it.
    """
    if os.fork():
        os._exit(0)
    limit(BEHIND)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):  # who reads the agent's end must not wait for this one
        os.dup2(null, fd)


def main(argv: list[str]) -> None:
    """Carry one payload to the session process and its answer back."""
    seconds = float(argv[2]) if len(argv) > 2 else SECONDS
    limit(seconds * PATIENCE)
    payload = read_all(0)
    limit(seconds, behind=True)
    answer = ask(os.environ["PMEM_SOCK"], os.environ["PMEM_TOKEN"], argv[1], payload)
    limit(0)  # a half-written answer would be worse than a late one
    while answer:
        answer = answer[os.write(1, answer) :]


if __name__ == "__main__":
    try:  # noqa: SIM105 (the import of contextlib costs more than everything here)
        main(sys.argv)
    except BaseException:
        pass
    os._exit(0)
