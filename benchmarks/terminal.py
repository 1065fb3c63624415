"""What the relay costs: throughput, the echo of a key, start-up, idling; beside other ways.

`python benchmarks/terminal.py [--quick] [--json]`. The subjects take turns, so that a busy moment
of the machine falls on all of them. This program is the terminal: it reads what they write.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PMEM = [sys.executable, "-m", "pmem"]


def raw(command: str, work: Path) -> list[str]:
    """The program alone on the terminal."""
    return ["sh", "-c", command]


def script(command: str, work: Path) -> list[str]:
    """util-linux script, writing its log."""
    return ["script", "-q", "-c", command, str(work / "typescript")]


def asciinema(command: str, work: Path) -> list[str]:
    """asciinema 2, recording to a file."""
    return ["asciinema", "rec", "-q", "--overwrite", "-c", command, str(work / "cast")]


def run(command: str, work: Path) -> list[str]:
    """pmem around a program it knows nothing of."""
    return [*PMEM, "run", "--quiet", "--", "sh", "-c", command]


def shell(command: str, work: Path) -> list[str]:
    """pmem around a shell: marks, capture, banners. The command is typed (see `Terminal`)."""
    return [*PMEM, "shell", "--quiet", "--shell", "bash"]


Subject = Callable[[str, Path], list[str]]
SUBJECTS: dict[str, Subject] = {
    "raw pty": raw,
    "script -q": script,
    "asciinema": asciinema,
    "pmem run": run,
    "pmem shell": shell,
}


class Terminal:
    """A pty with one subject in it."""

    def __init__(self, subject: Subject, command: str, work: Path) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PMEM", "XDG_"))}
        env |= {"HOME": str(work), "PYTHONPATH": str(ROOT), "TERM": "xterm", "PS1": "$ "}
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            subject(command, work),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            cwd=work,
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
        )
        os.close(slave)
        if subject is shell:
            os.write(self.master, f"{command}; exit\r".encode())

    def read_to_the_end(self) -> float:
        """Seconds from the start until the program has ended and all was read."""
        while True:
            try:
                if not os.read(self.master, 1 << 16):
                    break
            except OSError:
                break
        self.process.wait()
        return time.perf_counter() - self.began

    def read_until(self, end: bytes) -> None:
        """Read until the output ends like this."""
        seen = b""
        while not seen.endswith(end):
            seen = (seen + os.read(self.master, 4096))[-4096:]

    def key(self, byte: bytes) -> float:
        """Microseconds from typing a key to its echo."""
        began = time.perf_counter()
        os.write(self.master, byte)
        while True:
            select.select([self.master], [], [])
            if os.read(self.master, 64).endswith(byte):
                return (time.perf_counter() - began) * 1e6

    def close(self) -> None:
        """Hang up and wait."""
        os.close(self.master)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def seconds_of(subject: Subject, command: str, work: Path) -> float:
    """How long this command takes under this subject."""
    terminal = Terminal(subject, command, work)
    taken = terminal.read_to_the_end()
    os.close(terminal.master)
    return taken


def echoes(subject: Subject, keys: int, work: Path) -> list[float]:
    """Microseconds of so many keys echoed by `cat` in raw mode."""
    terminal = Terminal(subject, "stty raw -echo; echo ready.; exec cat", work)
    terminal.read_until(b"ready.\n")
    time.sleep(0.3)
    times = [terminal.key(bytes([97 + n % 26])) for n in range(keys)]
    terminal.close()
    return times


def idle(subject: Subject, seconds: float, work: Path) -> tuple[float, float]:
    """CPU milliseconds a second, and MiB held, of a subject in which nothing happens."""
    terminal = Terminal(subject, "stty raw -echo; echo ready.; exec cat", work)
    terminal.read_until(b"ready.\n")
    time.sleep(1)
    pid = terminal.process.pid
    before = ticks(pid)
    time.sleep(seconds)
    spent = (ticks(pid) - before) / os.sysconf("SC_CLK_TCK") * 1000 / seconds
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    terminal.close()
    return spent, pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def ticks(pid: int) -> int:
    """Clock ticks of CPU a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def measure(megabytes: int, rounds: int, keys: int, names: Sequence[str]) -> dict[str, dict]:
    """All figures of all subjects."""
    figures: dict[str, dict[str, list[float]]] = {
        name: {"start": [], "cat": [], "yes": [], "keys": []} for name in names
    }
    results: dict[str, dict] = {}
    with tempfile.TemporaryDirectory(prefix="term-") as directory:
        work = Path(directory)
        (work / ".bashrc").write_text("PS1='$ '\n")
        data = work / "data"
        line = ("0123456789" * 7 + "abcdefghi\n").encode()
        with data.open("wb") as file:
            for _ in range(megabytes):
                file.write(line * (1_000_000 // len(line)))
        for turn in range(rounds + 1):
            for name in names:
                subject, found = SUBJECTS[name], figures[name]
                start = seconds_of(subject, "true", work)
                if not turn:  # the first one fills the caches
                    continue
                found["start"].append(start)
                # What starts in the background has done so by then, and has to be ended.
                around = seconds_of(subject, "sleep 0.5", work) - 0.5
                found["cat"].append(seconds_of(subject, f"cat {data}", work) - around)
                found["yes"].append(seconds_of(subject, "yes | head -c 10M", work) - around)
                found["keys"] += echoes(subject, keys, work)
        for name in names:
            found = figures[name]
            spent, held = idle(SUBJECTS[name], 3, work)
            hundredths = statistics.quantiles(found["keys"], n=100)
            results[name] = {
                "median_ms": round(statistics.median(found["cat"]) * 1000),
                "fastest_ms": round(min(found["cat"]) * 1000),
                "yes_ms": round(statistics.median(found["yes"]) * 1000),
                "key_p50_us": round(hundredths[49]),
                "key_p99_us": round(hundredths[98]),
                "start_ms": round(statistics.median(found["start"]) * 1000, 1),
                "idle_cpu_ms_per_s": round(spent, 2),
                "memory_mib": round(held, 1),
            }
    return results


def table(results: dict[str, dict], megabytes: int) -> str:
    """The results as a Markdown table."""
    base = results.get("script -q", {"median_ms": 0, "fastest_ms": 0, "key_p50_us": 0})
    head = [
        f"| | cat {megabytes} MB, ms | to `script -q` | fastest | to `script -q` "
        "| `yes \\| head -c 10M`, ms | key p50, µs | to `script -q` | key p99, µs | start, ms "
        "| idle CPU, ms/s | memory, MiB |",
        "|---" * 12 + "|",
    ]
    rows = [
        f"| {name} | {r['median_ms']} | {ratio(r['median_ms'], base['median_ms'])} "
        f"| {r['fastest_ms']} | {ratio(r['fastest_ms'], base['fastest_ms'])} "
        f"| {r['yes_ms']} | {r['key_p50_us']} | {ratio(r['key_p50_us'], base['key_p50_us'])} "
        f"| {r['key_p99_us']} | {r['start_ms']:.0f} | {r['idle_cpu_ms_per_s']:.1f} "
        f"| {r['memory_mib']:.0f} |"
        for name, r in results.items()
    ]
    return "\n".join([*head, *rows])


def ratio(value: float, base: float) -> str:
    return f"{value / base:.2f}" if base else "-"


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keys", type=int, default=1000, help="keys a round")
    parser.add_argument("--quick", action="store_true", help="50 MB, 3 rounds of 500 keys")
    parser.add_argument("--subject", action="append", choices=list(SUBJECTS))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    if asked.quick:
        asked.megabytes, asked.rounds, asked.keys = 50, 3, 500
    names = [
        name
        for name in asked.subject or SUBJECTS
        if name not in ("script -q", "asciinema") or shutil.which(name.split()[0])
    ]
    results = measure(asked.megabytes, asked.rounds, asked.keys, names)
    print(json.dumps(results, indent=2) if asked.json else table(results, asked.megabytes))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
