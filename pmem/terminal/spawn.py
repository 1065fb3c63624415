"""Find a program and start it: in a new pty (pexpect does that) or with the given stdio."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmem.terminal.child import Child
from pmem.terminal.tty import Attributes, Size

#: Exit codes for a command that cannot be started, as env(1) and the shells have them.
NOT_FOUND, NOT_EXECUTABLE = 127, 126


class CannotStart(Exception):
    """The program cannot be started. The text is for the user, `exit_code` for the shell."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def find_program(name: str, env: Mapping[str, str], cwd: str | None = None) -> str:
    """The path of the program that `name` starts in `cwd`, searched on the PATH of `env`.

    A relative path stays relative: it is what the program will see as its own name.
    Raises CannotStart: 127 if there is none, 126 if it is there but cannot be executed.
    """
    base = Path(cwd or ".")
    if not name:
        raise CannotStart("the command is empty: name the program to run", NOT_FOUND)
    if "/" in name:
        return _checked(name, base)
    blocked = ""
    for directory in env.get("PATH", os.defpath).split(os.pathsep):
        candidate = f"{directory or '.'}/{name}"
        if (base / candidate).is_file():
            if os.access(base / candidate, os.X_OK):
                return candidate
            blocked = blocked or candidate
    if blocked:
        raise CannotStart(
            f"{blocked} is not executable: chmod +x it, or name another program", NOT_EXECUTABLE
        )
    raise CannotStart(f"{name}: command not found: is it installed and on PATH?", NOT_FOUND)


def _checked(name: str, base: Path) -> str:
    path = base / name
    if not path.exists():
        raise CannotStart(f"{name}: no such file: check the path", NOT_FOUND)
    if path.is_dir():
        raise CannotStart(f"{name} is a directory: name a program in it", NOT_EXECUTABLE)
    if not os.access(path, os.X_OK):
        raise CannotStart(f"{name} is not executable: chmod +x it", NOT_EXECUTABLE)
    return name


def spawn_in_pty(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str | None,
    size: Size,
    attributes: Attributes | None,
) -> Child:
    """Start `argv` as the leader of a session on a new pty of this size and these settings.

    `argv[0]` is handed on as it stands. `attributes` are the outer terminal's (None: the
    kernel's default). Raises CannotStart.
    """
    import pexpect
    import ptyprocess  # type: ignore[import-untyped]

    path = find_program(argv[0], env, cwd)
    inherited = inherited_descriptors()

    def become() -> None:
        set_up_child(size, attributes)
        if cwd:
            os.chdir(cwd)
        execute(path, argv, env)

    class Pty(ptyprocess.PtyProcess):  # type: ignore[misc]
        def setwinsize(self, rows: int, columns: int) -> None:
            """The child has set the whole size, pixels too; less would be a change to it."""

    class Spawn(pexpect.spawn):  # type: ignore[type-arg]
        def _spawnpty(self, args: Sequence[str], **options: Any) -> Any:
            return Pty.spawn(args, pass_fds=inherited, **options)

    try:
        # pexpect replaces argv[0] by a path and cuts a lone command at its spaces, so the child
        # becomes the program in preexec_fn; the command given here is never run.
        child = Spawn(
            "/bin/sh",
            ["-c", ":"],
            timeout=None,
            env=dict(env),
            dimensions=(size.rows, size.columns),
            preexec_fn=become,
        )
    except (OSError, pexpect.ExceptionPexpect) as error:
        raise cannot_execute(argv[0], error) from None
    return Child(child)


def cannot_execute(name: str, error: Exception) -> CannotStart:
    """The refusal of the kernel in the user's words."""
    text = str(error)
    if "Errno 2]" in text:
        return CannotStart(
            f"{name} cannot be started: its interpreter (the first line after #!) or the "
            "directory to start it in is missing",
            NOT_FOUND,
        )
    return CannotStart(f"{name} cannot be started: {text}", NOT_EXECUTABLE)


def inherited_descriptors() -> list[int]:
    """The open descriptors past stderr that a child would inherit without pmem in between."""
    try:
        names = os.listdir("/dev/fd")  # noqa: PTH208
    except OSError:
        return []
    found = []
    for name in names:
        try:
            fd = int(name)
            if fd > 2 and os.get_inheritable(fd):
                found.append(fd)
        except (ValueError, OSError):
            continue
    return found


def set_up_child(size: Size, attributes: Attributes | None) -> None:
    """In the child: default signals (Python ignores two), the outer settings, the exact size."""
    reset_signals()
    if attributes is not None:
        termios.tcsetattr(0, termios.TCSANOW, attributes)
    fcntl.ioctl(0, termios.TIOCSWINSZ, size.packed())


def reset_signals() -> None:
    """Give back what Python changed for itself."""
    signal.set_wakeup_fd(-1)  # its descriptor is closed here already
    for name in ("SIGPIPE", "SIGXFSZ", "SIGXFZ"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)


def execute(path: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Become the program; a script without `#!` is run by sh, as every shell does."""
    try:
        os.execve(path, list(argv), dict(env))
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        os.execve("/bin/sh", ["sh", path, *argv[1:]], dict(env))
