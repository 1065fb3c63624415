"""The client an agent's hook runs: `python -ISE client.py AGENT [SECONDS]`.

It carries the hook's payload from stdin to the session process and the answer back to stdout.
The wire, over the unix socket named by PMEM_SOCK: `pmem1 TOKEN AGENT` and a newline, then the
payload, then end of file; the answer is whatever comes back until end of file.

On any trouble it says nothing and exits 0: a hook never fails its agent. Its start is most of
what it costs, so it imports only what the interpreter has in itself or loads in a moment.
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


def ask(path: str, token: str, agent: str, payload: bytes, seconds: float) -> bytes:
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


def limit(seconds: float) -> None:
    """End this process, silent and with 0, after so many seconds; 0 lifts the limit."""
    _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def main(argv: list[str]) -> None:
    """Carry one payload to the session process and its answer back."""
    seconds = float(argv[2]) if len(argv) > 2 else SECONDS
    limit(seconds * PATIENCE)
    payload = read_all(0)
    limit(seconds)
    answer = ask(os.environ["PMEM_SOCK"], os.environ["PMEM_TOKEN"], argv[1], payload, seconds)
    limit(0)  # a half-written answer would be worse than a late one
    while answer:
        answer = answer[os.write(1, answer) :]


if __name__ == "__main__":
    try:  # noqa: SIM105 (the import of contextlib costs more than everything here)
        main(sys.argv)
    except BaseException:
        pass
    os._exit(0)
