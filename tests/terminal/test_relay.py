"""What breaks wrappers does not break this one: each behaviour in a real pty."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rig import HOST, Rig, host, host_env

Start = Callable[..., Rig]

PYTHON = sys.executable
RAW = "import os,sys,tty; tty.setraw(0); "
ECHO = RAW + (
    "os.write(1, b'ready');\n"
    "left = int(sys.argv[1])\n"
    "while left:\n"
    "    data = os.read(0, 65536); left -= len(data)\n"
    "    while data: data = data[os.write(1, data):]\n"
)


def noise(size: int, seed: int = 7) -> bytes:
    return random.Random(seed).randbytes(size)


def processes_under(pid: int) -> list[int]:
    """Living processes of this session id."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == pid and fields[0] != "Z":
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("run", range(8))
def test_the_last_bytes_before_the_exit_arrive(under_pmem: Start, tmp_path: Path, run: int) -> None:
    data = noise(200_003, run)
    (tmp_path / "data").write_bytes(data)
    rig = under_pmem("sh", "-c", f"stty raw; cat {tmp_path}/data")
    assert rig.wait() == 0
    assert bytes(rig.output) == data


def test_a_program_that_fills_a_slow_terminal_and_exits_loses_nothing(
    under_pmem: Start, tmp_path: Path
) -> None:
    data = noise(600_000)
    (tmp_path / "data").write_bytes(data)
    rig = under_pmem("sh", "-c", f"stty raw; cat {tmp_path}/data")
    time.sleep(0.5)  # nobody reads the terminal meanwhile
    assert rig.wait() == 0
    assert bytes(rig.output) == data


def test_the_size_is_right_from_the_start_and_after_each_change(under_pmem: Start) -> None:
    rig = under_pmem(
        "sh", "-c", "trap 'stty size' WINCH; stty size; echo ready; while :; do sleep 0.05; done",
        rows=33, columns=111,
    )  # fmt: skip
    rig.expect("33 111\r\nready")
    for rows, columns in ((20, 70), (50, 200), (2, 2)):
        rig.resize(rows, columns)
        rig.expect(f"{rows} {columns}\r\n")


@pytest.mark.parametrize(
    ("outer", "inner"), [((0, 0), "24 80"), ((0, 100), "24 100"), ((1, 1), "2 2")]
)
def test_a_terminal_without_a_usable_size_counts_as_one_that_has_it(
    under_pmem: Start, outer: tuple[int, int], inner: str
) -> None:
    rig = under_pmem("stty", "size", rows=outer[0], columns=outer[1])
    assert rig.wait() == 0
    assert rig.output.decode() == f"{inner}\r\n"


def test_every_byte_passes_both_ways(under_pmem: Start) -> None:
    every = bytes(range(256)) * 3
    rig = under_pmem(PYTHON, "-c", ECHO, str(len(every)))
    rig.expect("ready")
    rig.send(every)
    rig.until(lambda: len(rig.output) >= 5 + len(every))
    assert bytes(rig.output[5:]) == every
    assert rig.wait() == 0


def test_a_mebibyte_pasted_into_an_echoing_program_comes_back_whole(under_pmem: Start) -> None:
    paste = noise(1 << 20)
    rig = under_pmem(PYTHON, "-c", ECHO, str(len(paste)))
    rig.expect("ready")
    rig.send(paste)
    assert rig.wait() == 0
    assert bytes(rig.output[5:]) == paste


def test_a_paste_while_the_program_writes_stops_neither(under_pmem: Start, tmp_path: Path) -> None:
    paste = noise(1 << 20)
    program = RAW + (
        "import threading, hashlib\n"
        "os.write(1, b'ready')\n"
        "def write():\n"
        "    for _ in range(5000): os.write(1, b'x' * 1000)\n"
        "writer = threading.Thread(target=write); writer.start()\n"
        "got = b''\n"
        "while len(got) < int(sys.argv[1]): got += os.read(0, 65536)\n"
        "writer.join()\n"
        "os.write(1, hashlib.sha256(got).hexdigest().encode())\n"
    )
    rig = under_pmem(PYTHON, "-c", program, str(len(paste)))
    rig.expect("ready")
    rig.send(paste)
    assert rig.wait(60) == 0
    assert bytes(rig.output[5 : 5 + 5_000_000]) == b"x" * 5_000_000
    assert rig.output[5 + 5_000_000 :].decode() == hashlib.sha256(paste).hexdigest()


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)],
)
def test_the_exit_code_is_the_programs_own(under_pmem: Start, command: str, code: int) -> None:
    assert under_pmem("sh", "-c", command).wait() == code


def test_the_escape_key_of_other_wrappers_is_a_key(under_pmem: Start) -> None:
    rig = under_pmem(PYTHON, "-c", ECHO, "3")
    rig.expect("ready")
    rig.send(b"\x1d\x1d\x1c")
    assert rig.wait() == 0
    assert rig.output.endswith(b"\x1d\x1d\x1c")


def test_a_closed_pipe_ends_a_program_quietly(under_pmem: Start) -> None:
    rig = under_pmem("bash", "-c", "yes | head -1; echo ${PIPESTATUS[0]}")
    assert rig.wait() == 0
    assert rig.output.decode() == "y\r\n141\r\n"


def test_a_background_process_on_the_terminal_does_not_keep_pmem(under_pmem: Start) -> None:
    rig = under_pmem("sh", "-c", "trap '' HUP; sleep 60 & echo started; echo $!")
    pid = int(rig.expect(r"started\r\n(\d+)\r\n")[1])
    assert rig.wait(10) == 0
    os.kill(pid, signal.SIGKILL)


def test_a_background_process_that_writes_on_does_not_keep_pmem(under_pmem: Start) -> None:
    rig = under_pmem("bash", "-c", "trap '' HUP; yes & disown; echo pid $!")
    pid = int(rig.expect(r"pid (\d+)\r\n")[1])
    assert rig.wait(20) == 0
    os.kill(pid, signal.SIGKILL)


def test_ctrl_c_arrives_while_the_terminal_does_not_read(under_pmem: Start, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    rig = under_pmem("sh", "-c", f"trap 'echo x > {seen}; exit 3' INT; while :; do echo full; done")
    rig.expect("full")
    time.sleep(0.5)  # by now the terminal is full and nobody reads it
    os.write(rig.master, b"\x03")
    deadline = time.monotonic() + 20
    while not seen.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert rig.wait() == 3


def test_more_open_files_than_select_can_take_are_no_trouble(bare: Start, tmp_path: Path) -> None:
    opener = (
        "import os, resource, runpy, sys\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))\n"
        "held = [open('/dev/null') for _ in range(1100)]\n"
        f"sys.argv = [{str(HOST)!r}, '--', 'sh', '-c', 'read line; echo got $line']\n"
        f"runpy.run_path({str(HOST)!r}, run_name='__main__')\n"
    )
    rig = bare(PYTHON, "-c", opener, env=host_env())
    rig.line("input")
    assert rig.wait() == 0
    assert b"got input\r\n" in rig.output


@pytest.mark.parametrize("raw", [False, True])
def test_a_pipe_as_stdin_is_read_to_its_end(under_pmem: Start, raw: bool) -> None:
    read, write = os.pipe()
    rig = under_pmem("cat", stdin=read)
    os.close(read)
    os.write(write, b"one\ntwo" if raw else b"one\ntwo\n")
    os.close(write)
    assert rig.wait() == 0
    assert rig.output.count(b"one\r\n") == 2  # the echo and cat's own
    assert rig.output.count(b"two") == 2


def test_dev_null_as_stdin_is_an_end_of_file(under_pmem: Start) -> None:
    with Path(os.devnull).open("rb") as null:
        rig = under_pmem("sh", "-c", "cat; echo done", stdin=null.fileno())
    assert rig.wait() == 0
    assert rig.output.endswith(b"done\r\n")


def test_the_inner_terminal_has_the_outer_ones_settings(under_pmem: Start, bare: Start) -> None:
    def odd(settings: list[Any]) -> None:
        settings[3] &= ~termios.ECHO
        settings[0] |= termios.IXANY
        settings[6][termios.VERASE] = b"\x08"

    inner = under_pmem("stty", "-a", attributes=odd)
    outer = bare("stty", "-a", attributes=odd)
    assert inner.wait() == outer.wait() == 0
    assert bytes(inner.output) == bytes(outer.output)


def test_the_terminal_is_as_before_afterwards(under_pmem: Start) -> None:
    rig = under_pmem("sh", "-c", "stty raw -echo; kill -KILL $$")
    assert rig.wait() == 137
    assert rig.settings == rig.found


def test_what_a_killed_program_left_switched_on_is_switched_off(under_pmem: Start) -> None:
    left_on = r"\033[?1049h\033[?2004h\033[?1003h\033[?25l"
    rig = under_pmem("sh", "-c", f"printf '{left_on}'; kill -KILL $$")
    assert rig.wait() == 137
    assert rig.output.endswith(b"\x1b[?1003l\x1b[?1049l\x1b[?2004l\x1b[?25h")


def test_after_a_clean_end_nothing_is_added(under_pmem: Start) -> None:
    rig = under_pmem("printf", r"\033[?2004h")
    assert rig.wait() == 0
    assert bytes(rig.output) == b"\x1b[?2004h"


def test_what_was_typed_ahead_is_kept(bare: Start, tmp_path: Path) -> None:
    go = tmp_path / "go"
    command = " ".join(host("cat"))
    rig = bare(
        "sh", "-c",
        f"echo up; while [ ! -e {go} ]; do sleep 0.01; done; {command}",
        env=host_env(),
    )  # fmt: skip
    rig.expect("up")
    rig.send("before\r")
    rig.expect("before")
    go.touch()
    rig.expect("before\r\n.*before\r\n")  # echoed, then cat's own
    rig.send("\x04")
    assert rig.wait() == 0


def test_a_program_that_stops_itself_stops_pmem_and_goes_on_with_fg(
    bare: Start, tmp_path: Path
) -> None:
    script = tmp_path / "tui.py"
    script.write_text(
        f"{RAW}\nimport signal\nos.write(1, b'up ')\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
        "size = os.get_terminal_size()\n"
        "os.write(1, b'again %d %d ' % (size.lines, size.columns)); sys.exit(5)\n"
    )
    rig = bare("bash", "--norc", "-i", env=host_env({"PS1": "$ "}))
    rig.expect(r"\$ ")
    before = rig.settings
    rig.line(f"{PYTHON} {HOST} -- {PYTHON} {script}")
    rig.expect("up ")
    rig.expect("Stopped")
    rig.expect(r"\$ ")
    rig.until(lambda: rig.settings == before)  # the shell has its terminal back
    rig.resize(30, 90)
    rig.line("fg; echo ended $?")
    rig.expect("again 30 90 ")
    rig.expect("ended 5")
    rig.until(lambda: rig.settings == before)


@pytest.mark.parametrize("name", ["TERM", "HUP", "INT", "QUIT", "USR1", "USR2"])
def test_a_signal_to_pmem_reaches_the_program(under_pmem: Start, name: str) -> None:
    rig = under_pmem(
        "sh",
        "-c",
        f"trap 'echo got {name}; exit 4' {name}; echo ready; while :; do sleep 0.05; done",
    )
    rig.expect("ready")
    os.kill(rig.process.pid, getattr(signal, f"SIG{name}"))
    assert rig.wait() == 4
    assert f"got {name}".encode() in rig.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_closed_terminal_leaves_no_process(under_pmem: Start, shell: str) -> None:
    rig = under_pmem(shell, "-i")
    rig.line("sleep 300")
    rig.for_a_while(1)
    inner = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(rig.process.pid)], capture_output=True, text=True
    )
    child = int(inner.stdout)
    assert processes_under(child)
    os.close(rig.slave)
    os.close(rig.master)
    rig.process.wait(5)
    deadline = time.monotonic() + 5
    while processes_under(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_program_that_ignores_the_hangup_does_not_keep_pmem(under_pmem: Start) -> None:
    rig = under_pmem("sh", "-c", "trap '' HUP TERM; echo pid $$; while :; do sleep 0.1; done")
    pid = int(rig.expect(r"pid (\d+)\r\n")[1])
    os.close(rig.slave)
    os.close(rig.master)
    assert rig.process.wait(10) == 129
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["nosuch-program"], 127, "command not found"),
        (["./missing"], 127, "no such file"),
        (["./plain"], 126, "not executable"),
        (["./orphan"], 127, "interpreter"),
    ],
)
def test_what_cannot_be_started_is_told_and_the_terminal_is_well(
    under_pmem: Start, tmp_path: Path, argv: list[str], code: int, words: str
) -> None:
    (tmp_path / "plain").write_text("text")
    (tmp_path / "orphan").write_text("#!/no/such/interpreter\n")
    (tmp_path / "orphan").chmod(0o755)
    rig = under_pmem(*argv, cwd=tmp_path)
    assert rig.wait() == code
    assert rig.output.startswith(b"pmem: ") and words.encode() in rig.output
    assert rig.settings == rig.found
    assert b"Traceback" not in rig.output


def test_a_script_without_an_interpreter_line_is_run_by_sh(
    under_pmem: Start, tmp_path: Path
) -> None:
    (tmp_path / "a script").write_text("echo ran $1 as $0\n")
    (tmp_path / "a script").chmod(0o755)
    rig = under_pmem("./a script", "one", cwd=tmp_path)
    assert rig.wait() == 0
    assert rig.output == b"ran one as ./a script\r\n"


def test_the_program_leads_a_session_of_its_own_with_its_name_as_typed(
    under_pmem: Start, tmp_path: Path
) -> None:
    rig = under_pmem("sh", "-c", "ps -o pid=,pgid=,sid=,tpgid= -p $$; cat /proc/$$/cmdline")
    assert rig.wait() == 0
    first, rest = bytes(rig.output).split(b"\r\n", 1)
    assert len(set(first.split())) == 1
    assert rest.startswith(b"sh\x00-c\x00")


def test_descriptors_that_were_inherited_stay_so_and_none_is_added(
    under_pmem: Start, bare: Start, tmp_path: Path
) -> None:
    with (tmp_path / "log").open("wb") as log:
        rig = under_pmem("ls", "/proc/self/fd", pass_fds=[log.fileno()])
        without = bare("ls", "/proc/self/fd", pass_fds=[log.fileno()])
        assert rig.wait() == without.wait() == 0
    assert bytes(rig.output) == bytes(without.output)


def test_an_environment_that_is_no_utf8_passes(under_pmem: Start) -> None:
    rig = under_pmem("sh", "-c", 'printf %s "$ODD" | od -An -tx1', env={"ODD": "\udcff\udcfe"})
    assert rig.wait() == 0
    assert rig.output.split() == [b"ff", b"fe"]


def test_while_nothing_happens_no_time_is_spent(under_pmem: Start) -> None:
    rig = under_pmem("cat")
    rig.for_a_while(0.5)
    stat = Path(f"/proc/{rig.process.pid}/stat")
    before = stat.read_text().rpartition(")")[2].split()[11:13]
    rig.for_a_while(1.5)
    assert stat.read_text().rpartition(")")[2].split()[11:13] == before


def test_a_program_hears_of_no_resize_that_did_not_happen(under_pmem: Start) -> None:
    program = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGWINCH, lambda *_: os.write(1, b'resized'))\n"
        "time.sleep(1)"
    )
    rig = under_pmem(PYTHON, "-c", program, pixels=(640, 480))
    assert rig.wait() == 0
    assert bytes(rig.output) == b""


def test_the_size_in_pixels_is_passed_on(under_pmem: Start) -> None:
    program = (
        "import fcntl, struct, termios\n"
        "print(struct.unpack('HHHH', fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))))"
    )
    rig = under_pmem(PYTHON, "-c", program, pixels=(640, 480))
    assert rig.wait() == 0
    assert bytes(rig.output) == b"(24, 80, 640, 480)\r\n"


def test_a_pipe_as_stdout_gets_every_byte_however_slow_its_reader(
    bare: Start, tmp_path: Path
) -> None:
    command = f"{PYTHON} {HOST} -- sh -c 'stty raw; seq 100000' | (sleep 0.5; cat > out)"
    rig = bare("sh", "-c", command, env=host_env(), cwd=tmp_path)
    assert rig.wait() == 0
    assert (tmp_path / "out").read_bytes() == b"".join(b"%d\n" % n for n in range(1, 100001))
    assert rig.settings == rig.found
