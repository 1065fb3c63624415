"""`pmem bank check --secrets` names what stands there, and shows no secret itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from corpus import secrets

from pmem.store.project import ensure, find_project
from pmem.store.secrets import found


def test_secrets_in_bank_archive_and_logs_are_named_and_not_shown(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    project = find_project(root, os.environ)
    ensure(project)
    samples = [s for s in secrets() if "\n" not in s.text and '"' not in s.text][:40]
    lines = [f'[[knowledge]]\nid = "k{n}"\ncontent = "x"\n' for n in range(3)]
    lines.append(f"[[knowledge]]\nid = \"mine\"\ncontent = 'use {samples[0].text} here'\n")
    project.bank.write_text("schema = 1\n" + "\n".join(lines))
    log = project.state / "20300101-000000-claude" / "steps.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps({"step": 1, "action": s.text}) + "\n" for s in samples))
    seen = list(found(project))
    assert {one.path for one in seen} == {project.bank, log}
    assert {one.line for one in seen if one.path == log} == set(range(1, 41))
    done = subprocess.run(
        [sys.executable, "-m", "pmem", "bank", "check", "--secrets"],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1, done.stderr
    assert ".pmem/bank.toml:16: " in done.stdout and "…[redacted " in done.stdout
    assert not [p for s in samples for p in s.parts if p in done.stdout + done.stderr]


def test_where_nothing_is_all_is_well(tmp_path: Path) -> None:
    assert list(found(find_project(tmp_path, os.environ))) == []
