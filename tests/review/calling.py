"""A command line in a project, without a terminal."""

from __future__ import annotations

import io
import os

from pmem.cli.environment import Environment
from pmem.cli.main import run
from pmem.store.project import Project


def called(project: Project, *args: str, stdin: str = "") -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    environment = Environment(io.StringIO(stdin), out, err, dict(os.environ), project.root)
    return run(args, environment), out.getvalue(), err.getvalue()
