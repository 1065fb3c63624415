"""Facts of the project that steps have shown, written so that a person nods."""

from __future__ import annotations

from scene import Scene


def test_the_command_that_runs_the_tests() -> None:
    scene = Scene().ran("npm test", "boom\n", 1).edited().ran("npm test", "12 passing\n")
    entry = scene.bank.get("how-to-test")
    assert entry is not None
    assert entry.content == "`npm test` runs the tests: it passed at step 3."


def test_a_failed_run_or_a_narrower_one_tells_nothing_new() -> None:
    scene = Scene().ran("pytest", "1 failed\n", 1)
    assert scene.bank.get("how-to-test") is None
    scene.ran("pytest", "3 passed\n").ran("pytest tests/test_cart.py -k pay", "1 passed\n")
    entry = scene.bank.get("how-to-test")
    assert entry is not None and entry.content.startswith("`pytest` ")


def test_where_a_server_listens() -> None:
    scene = Scene().ran("npm run dev", "ready - started server on http://localhost:3000\n")
    entry = scene.bank.get("port-3000")
    assert entry is not None
    assert entry.content == "Port 3000: `npm run dev` said it listens there (step 1)."


def test_a_port_in_a_file_that_was_read_is_no_server() -> None:
    scene = Scene().read("README.md", "The server is running on port 3000.")
    assert scene.bank.get("port-3000") is None
