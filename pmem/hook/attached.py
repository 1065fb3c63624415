"""The client of an attached project's hook: `python -ISE attached.py AGENT PARENT`.

The agent was started without pmem, so nothing tells where its session is: it is looked for by
the process id of the agent (PARENT, or the nearest process above it that is one). The first
event finds none and starts it, without an answer; the session ends with the agent.

Where pmem already runs the agent, its own hook speaks and this one is silent. As in `client.py`,
any trouble means: say nothing, exit 0.
"""

import _socket
import os
import stat
import sys
from time import sleep

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
if __name__ == "__main__":
    sys.path.insert(0, ROOT)

from pmem.hook.client import SECONDS, ask, let_go, limit, read_all  # noqa: E402

#: Set for an agent that pmem started: its own hook tells everything.
HOOKED = "PMEM_HOOKED"
#: Values of PMEM that switch everything off.
OFF = ("off", "0", "no", "false")
#: In the directory of an attached agent's session: its token, and that there will be none.
TOKEN, NONE, SOCKET = "t", "off", "s"
#: In the last event that an agent tells.
END = b'"SessionEnd"'
#: The longest path of a socket in bytes (macOS).
MAX_SOCKET_PATH = 103
#: How often the hook itself looks for a session that another event is just starting.
PATIENCE = 30
#: Processes looked at above the hook.
MAX_ANCESTORS = 16
#: What starts the session process.
BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from pmem.session.detached import main; main()"


def bases(env: "os._Environ[str] | dict[str, str]") -> list[str]:
    """Where sessions have their private directories, the best place first."""
    runtime = env.get("XDG_RUNTIME_DIR", "")
    own = f"pmem-{os.getuid()}"
    places = [f"{runtime}/pmem"] if runtime.startswith("/") else []
    return [*places, f"{env.get('TMPDIR') or '/tmp'}/{own}", f"/tmp/{own}"]


def directory(pid: int) -> str:
    """The name of the directory of the session that belongs to an agent's process."""
    return f"a{pid}"


def find(bases: list[str], pid: int) -> "tuple[str, str] | None":
    """Socket and token of the session of this process; the sign and "" if there shall be none."""
    for base in bases:
        place = f"{base}/{directory(pid)}"
        try:
            if os.lstat(place).st_uid != os.getuid():
                continue
            try:
                fd = os.open(f"{place}/{TOKEN}", os.O_RDONLY)
            except FileNotFoundError:
                os.lstat(f"{place}/{NONE}")
                return f"{place}/{NONE}", ""
            token = os.read(fd, 100).decode()
            os.close(fd)
            return f"{place}/{SOCKET}", token
        except OSError:
            continue
    return None


def ancestors(pid: int) -> "list[int]":
    """A process and those above it, nearest first, without the system's first one."""
    table = None
    found: list[int] = []
    while pid > 1 and len(found) < MAX_ANCESTORS and pid not in found:
        found.append(pid)
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            if table is None:
                rows = os.popen("ps -A -o pid=,ppid=").read().split("\n")
                table = {int(r.split()[0]): int(r.split()[1]) for r in rows if len(r.split()) == 2}
            pid = table.get(pid, 0)
    return found


def is_agent(pid: int, agent: str) -> bool:
    """Whether a process is this agent's program, itself or as a script of an interpreter."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            words = [os.fsdecode(word) for word in file.read().split(b"\0")]
    except OSError:
        words = os.popen(f"ps -ww -o args= -p {pid}").read().split()
    names = {word.rpartition("/")[2] for word in words[:3]}
    return any(name == agent or name.partition(".")[0] == agent for name in names)


def agent_process(parent: int, agent: str) -> int:
    """The agent's process: the nearest one from `parent` upward that is one, else `parent`."""
    return next((pid for pid in ancestors(parent) if is_agent(pid, agent)), parent)


def look(parent: int, agent: str) -> "tuple[str, str] | None":
    """The session of the agent above this hook, None if it has none yet."""
    places = bases(os.environ)
    found = find(places, parent)
    if found is not None:
        return found
    for pid in ancestors(parent):
        found = find(places, pid)
        if found is not None or is_agent(pid, agent):
            return found
    return None


def claim(pid: int) -> "tuple[str, _socket.socket]":
    """The directory of a new session for this process, and its socket, which listens already.

    What comes in from now on waits there in its order. Raises FileExistsError if another event
    was faster, OSError if there is no private place.
    """
    for base in bases(os.environ):
        try:
            os.mkdir(base, 0o700)  # noqa: PTH102
        except FileExistsError:
            found = os.lstat(base)
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                continue
            if found.st_mode & 0o077:
                os.chmod(base, 0o700)  # noqa: PTH101
        except OSError:
            continue
        place = f"{base}/{directory(pid)}"
        if len(os.fsencode(f"{place}/{SOCKET}")) > MAX_SOCKET_PATH:
            continue
        os.mkdir(place, 0o700)  # noqa: PTH102
        listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        listener.bind(f"{place}/n")
        listener.listen(64)
        os.rename(f"{place}/n", f"{place}/{SOCKET}")  # noqa: PTH104 (as in session/run_dir.py)
        # The token comes last and whole: who can read it can connect.
        fd = os.open(f"{place}/.t", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(fd, os.urandom(16).hex().encode())
        os.close(fd)
        os.rename(f"{place}/.t", f"{place}/{TOKEN}")  # noqa: PTH104
        return place, listener
    raise OSError("no private directory")


def start(agent: str, pid: int, payload: bytes) -> None:
    """Start the session process with this event, and do not wait for it.

    Raises FileExistsError if another event was faster.
    """
    place, listener = claim(pid)
    name = f"{place}/first"
    kept = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(name)  # noqa: PTH108
    while payload:
        payload = payload[os.write(kept, payload) :]
    os.lseek(kept, 0, os.SEEK_SET)
    if os.fork():
        return
    limit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    kept, held = os.dup(kept), os.dup(listener.fileno())  # out of the way of 0 to 3
    for own, fd in ((kept, 0), (null, 1), (null, 2), (held, 3)):
        os.dup2(own, fd)
    os.closerange(4, 256)
    os.execv(sys.executable, [sys.executable, "-I", "-c", BOOT, ROOT, agent, str(pid), place])


def deliver(agent: str, parent: int, payload: bytes) -> bytes:
    """The answer of the agent's session; b"" from one that is started by this event."""
    for attempt in range(5000):
        if attempt == PATIENCE:  # the machine is busy: the agent goes on, the event is kept
            let_go()
        found = look(parent, agent)
        try:
            if found is not None and not found[1]:
                if END in payload:
                    remove(found[0].rpartition("/")[0])
                return b""
            if found is not None:
                return ask(*found, agent, payload)
        except (FileNotFoundError, ConnectionRefusedError):  # its process was killed
            remove(found[0].rpartition("/")[0] if found else "")
        try:
            start(agent, agent_process(parent, agent), payload)
            return b""
        except (FileExistsError, FileNotFoundError):  # another event was faster; the base just went
            sleep(0.002)
    return b""


def remove(place: str) -> None:
    """Take away what a dead session left, and the place of all if it was the last one."""
    for name in (TOKEN, SOCKET, NONE, ".t", "n"):
        try:  # noqa: SIM105
            os.unlink(f"{place}/{name}")  # noqa: PTH108
        except OSError:
            pass
    try:
        os.rmdir(place)  # noqa: PTH106
        os.rmdir(os.path.dirname(place))  # noqa: PTH106, PTH120
    except OSError:
        pass


def main(argv: "list[str]") -> None:
    """Carry one payload to the agent's session, or start it."""
    if os.environ.get(HOOKED) or os.environ.get("PMEM", "").strip().lower() in OFF:
        return
    agent, parent = argv[1], int(argv[2])
    limit(SECONDS * 10)  # the agent may take its time to write
    payload = read_all(0)
    limit(SECONDS, behind=True)
    try:  # typed in a shell under pmem, it is a guest of that session
        token = os.environ["PMEM_TOKEN"].partition("@")[0]
        guest = f"{agent}-{agent_process(parent, agent)}"
        answer = ask(os.environ["PMEM_SOCK"], f"{token}@{guest}", agent, payload)
    except (KeyError, FileNotFoundError, ConnectionRefusedError):
        answer = deliver(agent, parent, payload)
    limit(0)
    while answer:
        answer = answer[os.write(1, answer) :]


if __name__ == "__main__":
    try:  # noqa: SIM105
        main(sys.argv)
    except BaseException:
        pass
    os._exit(0)
