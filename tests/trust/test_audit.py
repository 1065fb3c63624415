"""The look-up of advisories says what it found, and is bounded. The program it asks is played."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from audit import Unknown, looked_up

GOOD = {"name": "click", "version": "8.3.0", "vulns": []}
BAD = {"name": "jinja2", "version": "3.1.0", "vulns": [{"id": "PYSEC-2099-1", "fix_versions": []}]}
UNTOLD = {"name": "rich", "skip_reason": "Dependency not found on PyPI"}


@pytest.fixture
def tool(tmp_path: Path) -> Any:
    def played(script: str) -> Path:
        path = tmp_path / "pip-audit"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return played


def reporting(*packages: dict[str, Any], code: int = 0) -> str:
    return f"cat <<'EOF'\n{json.dumps({'dependencies': packages})}\nEOF\nexit {code}"


def test_all_are_good(tool: Any) -> None:
    told, good = looked_up(tool(reporting(GOOD)), "/site")
    assert good
    assert told == "1 of 1 packages were audited\n  no advisory is known"


def test_an_advisory_is_named_with_its_package(tool: Any) -> None:
    told, good = looked_up(tool(reporting(GOOD, BAD, code=1)), "/site")
    assert not good
    assert "jinja2 3.1.0: PYSEC-2099-1" in told


def test_what_the_index_does_not_tell_of_is_named(tool: Any) -> None:
    told, good = looked_up(tool(reporting(GOOD, UNTOLD)), "/site")
    assert not good
    assert told.startswith("1 of 2 packages were audited\n  not audited: rich")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (reporting(UNTOLD, UNTOLD), "the index here tells of none of the 2 packages"),
        ("echo 'no route to host' >&2; exit 1", "cannot be reached: no route to host"),
        ("exit 1", "cannot be reached: it said nothing"),
    ],
)
def test_where_nothing_was_audited_that_is_said(tool: Any, script: str, why: str) -> None:
    with pytest.raises(Unknown, match=why):
        looked_up(tool(script), "/site")


def test_it_is_not_waited_for_longer_than_it_may_take(tool: Any) -> None:
    with pytest.raises(Unknown, match="no answer within 1 s"):
        looked_up(tool("exec sleep 600"), "/site", seconds=1)
