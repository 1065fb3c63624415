"""Who is at the other end of a unix socket, as far as the system tells."""

from __future__ import annotations

import os
import socket
import struct

#: <sys/un.h> on macOS and the BSDs; Python does not name them everywhere.
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1


def same_user(client: socket.socket) -> bool:
    """True if the peer runs as this user, or if the system cannot tell (the token remains)."""
    uid = peer_uid(client)
    return uid is None or uid == os.getuid()


def peer_uid(client: socket.socket) -> int | None:
    """The peer's user id: SO_PEERCRED on Linux, LOCAL_PEERCRED (struct xucred) on macOS."""
    try:
        if hasattr(socket, "SO_PEERCRED"):
            found = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            return int(struct.unpack("iII", found)[1])
        found = client.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
        return int(struct.unpack_from("=II", found)[1])
    except (OSError, struct.error):
        return None
