"""A command line with an environment of its own: nothing is patched."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pmem.cli.environment import Environment
from pmem.cli.main import run


@dataclass(frozen=True)
class Said:
    """What one command line ended with."""

    code: int
    out: str
    err: str


Call = Callable[..., Said]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty directory that is a project of its own."""
    place = tmp_path / "project"
    place.mkdir()
    return place


@pytest.fixture
def pmem(project: Path, home: Path) -> Call:
    """`pmem("bank", "list")` in the project, without a terminal."""

    def call(
        *args: str,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        columns: int | None = None,
        cwd: Path = project,
    ) -> Said:
        out, err = io.StringIO(), io.StringIO()
        environment = Environment(
            stdin=io.StringIO(stdin),
            stdout=out,
            stderr=err,
            env={"HOME": str(home), "PATH": "/usr/bin:/bin", **(env or {})},
            cwd=cwd,
            width=columns,
        )
        code = run(args, environment)
        return Said(code, out.getvalue(), err.getvalue())

    return call
