"""Routes: which address here stands for which service out there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

#: Headers of one connection and not of the message (RFC 9110, 7.6.1), and what is counted anew.
HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "te", "trailer"),
        *("transfer-encoding", "upgrade", "proxy-authenticate"),
    }
)
#: Names by which this machine alone calls itself.
LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})


def upstream_of(target: str, routes: Mapping[str, str]) -> str | None:
    """The address out there of a request's target (`/PREFIX/rest?query`), None if it has none.

    The longest prefix counts; what follows it is kept to the byte.
    """
    path = target.partition("?")[0]
    for prefix in sorted(routes, key=len, reverse=True):
        if path == prefix or path.startswith(prefix.rstrip("/") + "/"):
            return routes[prefix].rstrip("/") + target[len(prefix.rstrip("/")) :]
    return None


def is_local(host: str | None, names: Collection[str] = LOCAL) -> bool:
    """Whether a request's `Host` names this machine as it names itself.

    A page in a browser can make another name lead here; it cannot say this one.
    """
    return host is not None and host.rpartition(":")[0 if ":" in host else 2] in names


def checked(upstream: str) -> str:
    """The address of a service. Raises ValueError with a sentence if it is none."""
    parts = urlsplit(upstream)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"'{upstream}' is no address of a service; give it as https://HOST/v1")
    return upstream
