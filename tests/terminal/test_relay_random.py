"""Random bytes, sizes and signals: no byte lost, no hang, no traceback.

PMEM_TEST_SECONDS makes the search go on for so long (default: a few dozen examples). Its rounds
are the same in every run, so that what one has found, the next one finds again.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from itertools import count

from examples import examples
from hypothesis import given, seed
from hypothesis import strategies as st
from rig import Rig, host, host_env

#: Read at import: a fixture clears such variables for the tests.
SECONDS = float(os.environ.get("PMEM_TEST_SECONDS", "0"))

#: In raw mode: sends back what it gets, notes what else happens to it, ends after `.end.`.
PROGRAM = """
import os, signal, sys, tty
tty.setraw(0)
for name in ("WINCH", "USR1", "USR2", "HUP", "QUIT"):
    signal.signal(getattr(signal, "SIG" + name), lambda *_: None)
os.write(1, b"<ready>")
seen = b""
while not seen.endswith(b".end."):
    data = os.read(0, 65536)
    seen = (seen + data)[-5:]
    while data:
        data = data[os.write(1, data):]
sys.exit(11)
"""

event = st.one_of(
    st.binary(min_size=1, max_size=2000),
    st.binary(min_size=1, max_size=10).map(lambda part: part * 3000),
    st.tuples(st.integers(0, 300), st.integers(0, 500)),
    st.sampled_from([signal.SIGWINCH, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP]),
)


@examples(25)
@given(st.lists(event, max_size=12))
def every_byte_comes_back(events: list[bytes | tuple[int, int] | signal.Signals]) -> None:
    rig = Rig(host(sys.executable, "-c", PROGRAM), env=host_env())
    try:
        rig.expect("<ready>")
        sent = b""
        for event in events:
            if isinstance(event, bytes):
                data = event.replace(b".end.", b"")
                rig.send(data)
                sent += data
            elif isinstance(event, tuple):
                rig.resize(*event)
            else:
                os.kill(rig.process.pid, event)
        rig.send(b".end.")
        assert rig.wait(60) == 11
        assert bytes(rig.output) == b"<ready>" + sent + b".end."
        assert rig.settings == rig.found
    finally:
        rig.close()


def test_whatever_happens_every_byte_comes_back() -> None:
    end = time.monotonic() + SECONDS
    for number in count():
        seed(number)(every_byte_comes_back)()
        if time.monotonic() >= end:
            break
