"""The private directory of a session: short, 0700, swept when its owner died."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from pmem.session import run_dir
from pmem.session.peer import peer_uid, same_user


def test_it_is_private_and_in_the_runtime_directory(short_dir: Path) -> None:
    made = run_dir.make({"XDG_RUNTIME_DIR": str(short_dir)})
    assert made.parent == short_dir / "pmem"
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700


def test_nothing_is_left_when_the_last_session_ends(short_dir: Path) -> None:
    env = {"XDG_RUNTIME_DIR": str(short_dir)}
    first, second = run_dir.make(env), run_dir.make(env)
    run_dir.remove(first)
    assert second.exists()
    run_dir.remove(second)
    assert list(short_dir.iterdir()) == []


def test_a_dead_sessions_directory_is_swept_and_a_live_one_stays(short_dir: Path) -> None:
    env = {"XDG_RUNTIME_DIR": str(short_dir)}
    live, dead = run_dir.make(env), run_dir.make(env)
    with run_dir.listen(live):
        run_dir.listen(dead).close()
        run_dir.make(env)
        assert live.exists()
        assert not dead.exists()


def test_a_session_that_is_just_starting_is_not_swept_away(
    short_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"XDG_RUNTIME_DIR": str(short_dir)}
    starting = run_dir.make(env)
    listen = socket.socket.listen

    def others_start(self: socket.socket, backlog: int) -> None:
        run_dir.remove(run_dir.make(env))  # bound, and not listening yet
        listen(self, backlog)

    monkeypatch.setattr(socket.socket, "listen", others_start)
    with run_dir.listen(starting):
        assert (starting / run_dir.SOCKET).exists()
        assert sorted(p.name for p in starting.iterdir()) == [run_dir.SOCKET]


def test_a_session_is_never_taken_for_that_of_an_attached_agent(
    short_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"XDG_RUNTIME_DIR": str(short_dir)}
    names = iter(["a9999999", "a9999999", "a9999998"])
    monkeypatch.setattr(os, "urandom", lambda n: bytes.fromhex(next(names)))
    live = run_dir.make(env)
    with run_dir.listen(live):
        other = run_dir.make(env)
        assert live.exists() and other.exists() and live != other


def test_a_session_that_accepts_nobody_for_now_holds_no_other_up(short_dir: Path) -> None:
    env = {"XDG_RUNTIME_DIR": str(short_dir)}
    stopped = run_dir.make(env)
    with run_dir.listen(stopped), contextlib.ExitStack() as clients:
        with contextlib.suppress(BlockingIOError):
            for _ in range(10_000):
                client = clients.enter_context(socket.socket(socket.AF_UNIX))
                client.setblocking(False)
                client.connect(str(stopped / run_dir.SOCKET))
        start = threading.Thread(target=run_dir.make, args=(env,), daemon=True)
        start.start()
        start.join(20)
        assert not start.is_alive()
        assert stopped.exists()


def test_a_path_too_long_for_a_socket_falls_back(tmp_path: Path, short_dir: Path) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    made = run_dir.make({"XDG_RUNTIME_DIR": str(long), "TMPDIR": str(short_dir)})
    assert made.is_relative_to(short_dir)
    run_dir.remove(made)


def test_a_link_in_place_of_the_directory_is_not_followed(short_dir: Path) -> None:
    elsewhere = short_dir / "elsewhere"
    elsewhere.mkdir()
    runtime = short_dir / "run"
    runtime.mkdir()
    (runtime / "pmem").symlink_to(elsewhere)
    made = run_dir.make({"XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(short_dir)})
    assert list(elsewhere.iterdir()) == []
    run_dir.remove(made)


def test_the_peer_of_a_socket_is_this_user(short_dir: Path) -> None:
    made = run_dir.make({"XDG_RUNTIME_DIR": str(short_dir)})
    with run_dir.listen(made) as listener, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(made / run_dir.SOCKET))
        server, _ = listener.accept()
        with server:
            assert same_user(server)
            if hasattr(socket, "SO_PEERCRED"):
                import os

                assert peer_uid(server) == os.getuid()


def test_no_safe_place_is_a_clear_error(short_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_dir, "_is_private", lambda place: False)
    with pytest.raises(run_dir.NoPrivateDirectory, match="set XDG_RUNTIME_DIR"):
        run_dir.make({"XDG_RUNTIME_DIR": str(short_dir)})
