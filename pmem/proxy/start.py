"""Doors, and the start of the proxy process from the terminal's side.

The port is bound before that process starts, so that an agent's first request waits for it
instead of being refused.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from pmem.proxy.routes import checked

#: What the proxy needs and pmem alone does not bring: package, and the extra that brings it.
NEEDS, EXTRA = "aiohttp", "proxy"
#: How long its end is waited for, in seconds.
PATIENCE = 2.0


def missing() -> str:
    """Why the proxy cannot run here, as a sentence with what to do; "" if it can."""
    if importlib.util.find_spec(NEEDS) is not None:
        return ""
    from pmem.extra import how_to_install

    return (
        f"the model proxy needs the package {NEEDS}, which is not installed; "
        f"install it: {how_to_install(EXTRA, NEEDS)}"
    )


class Doors:
    """Addresses on this machine, each for a service out there.

    Where the port was chosen here (`port` 0) they hold a secret, so that nobody else on this
    machine finds them; a port that was asked for has plain ones. With a `host` they are open to
    other machines, which know this one by that name. Raises OSError if the port is taken.
    """

    def __init__(self, port: int = 0, host: str = "") -> None:
        self.socket = socket.create_server(("" if host else "127.0.0.1", port), backlog=512)
        self.host = host or "127.0.0.1"
        self.port: int = self.socket.getsockname()[1]
        self._secret = "" if port else f"/{secrets.token_urlsafe(12)}"
        self.routes: dict[str, str] = {}

    def door(self, upstream: str, name: str = "") -> str:
        """The address here for a service, `name` its place in the path.

        It ends in the service's own last part, by which some clients know a version. Raises
        ValueError with a sentence if the service's address is none.
        """
        upstream = checked(upstream)
        last = urlsplit(upstream).path.rstrip("/").rpartition("/")[2]
        place = name or next(
            (
                known.removeprefix(self._secret).split("/")[1]
                for known, service in self.routes.items()
                if service == upstream
            ),
            str(len(self.routes) + 1),
        )
        prefix = f"{self._secret}/{place}" + (f"/{last}" if last else "")
        self.routes[prefix] = upstream
        return f"http://{self.host}:{self.port}{prefix}"

    def open(
        self,
        reach: Mapping[str, str],
        *,
        cwd: str,
        errors: str = "",
        seconds: float = 0.5,
        transient: bool = False,
    ) -> Open:
        """Start the process that serves these doors. `reach` says how the session is reached."""
        told = {
            "fd": self.socket.fileno(),
            "routes": self.routes,
            "socket": reach.get("PMEM_SOCK", ""),
            "token": reach.get("PMEM_TOKEN", ""),
            "cwd": cwd,
            "errors": errors,
            "seconds": seconds,
            "transient": transient,
        }
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", "pmem.proxy"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[self.socket.fileno()],
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.flush()
        self.socket.close()
        return Open(process)


class Open:
    """A proxy process that serves."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def close(self) -> None:
        """End it: it ends when nothing holds its standard input any more."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def reaching_this_machine(env: Mapping[str, str]) -> dict[str, str]:
    """What keeps an agent from asking a proxy of its user's for an address on this machine."""
    names = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
    if not any(env.get(name) for name in names):
        return {}
    known = env.get("NO_PROXY") or env.get("no_proxy") or ""
    return dict.fromkeys(("NO_PROXY", "no_proxy"), ",".join(filter(None, [known, "127.0.0.1"])))
