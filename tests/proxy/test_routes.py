"""Doors and routes: which address here stands for which one out there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pmem.proxy.routes import checked, is_local, upstream_of
from pmem.proxy.server import forward_proxy, passed
from pmem.proxy.session_link import SessionLink
from pmem.proxy.start import Doors, reaching_this_machine

ROUTES = {"/s/1/v1": "https://a.example/x/v1/", "/s/1": "https://b.example", "/": "http://c/d"}


@pytest.mark.parametrize(
    ("target", "upstream"),
    [
        ("/s/1/v1/messages?a=%2F&b", "https://a.example/x/v1/messages?a=%2F&b"),
        ("/s/1/v1", "https://a.example/x/v1"),
        ("/s/1/v1x", "https://b.example/v1x"),
        ("/s/1/a%20b/", "https://b.example/a%20b/"),
        ("/s/12", "http://c/d/s/12"),
        ("/", "http://c/d/"),
    ],
)
def test_the_longest_prefix_counts_and_the_rest_is_kept(target: str, upstream: str) -> None:
    assert upstream_of(target, ROUTES) == upstream
    assert upstream_of("/s", {"/s/1": "http://a"}) is None


def test_doors_of_one_service_are_one_and_end_as_the_service_does() -> None:
    doors = Doors()
    first, again = doors.door("https://a/v1"), doors.door("https://a/v1")
    other = doors.door("https://b")
    doors.socket.close()
    assert first == again != other and first.endswith("/v1")
    with pytest.raises(ValueError, match="no address"):
        checked("a/v1")
    secret = first.split("/")[3]
    assert len(secret) >= 16 and Doors().door("https://a").split("/")[3] != secret


def test_only_this_machine_s_own_names_are_local() -> None:
    assert [is_local(h) for h in ("127.0.0.1:80", "localhost:1", "localhost", "[::1]:8")] == [
        True
    ] * 4
    assert not any(map(is_local, (None, "", "evil.example:80", "127.0.0.1.evil.example")))


def test_headers_of_one_connection_are_left_out_and_repeated_ones_stay() -> None:
    from multidict import CIMultiDict

    given = [("A", "1"), ("a", "2"), ("Connection", "close, X-Hop"), ("x-hop", "3"), ("TE", "x")]
    assert list(passed(CIMultiDict(given)).items()) == [("A", "1"), ("a", "2")]


def test_a_forward_proxy_of_the_user_s_is_used_for_services_and_not_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert forward_proxy("https://a.example/v1") is None
    assert reaching_this_machine({}) == {}
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    assert forward_proxy("https://a.example/v1") == "http://proxy:3128"
    assert forward_proxy("https://inside.example/v1") is None
    assert forward_proxy("http://a.example/v1") is None
    told = reaching_this_machine({"HTTP_PROXY": "http://proxy", "NO_PROXY": "inside.example"})
    assert told["no_proxy"] == told["NO_PROXY"] == "inside.example,127.0.0.1"


def test_a_session_that_was_never_there_is_silence(tmp_path: Path) -> None:
    link = SessionLink(str(tmp_path / "none"), "token", "/p")
    assert asyncio.run(link.tell(None, [{"event": "user", "text": "go"}])) == ""
