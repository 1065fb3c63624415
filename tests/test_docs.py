"""The documents say what is so: commands, links, examples, settings."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from pmem.core.step import Step
from pmem.store.project import find_project
from pmem.store.session_log import SessionLog

if TYPE_CHECKING:
    from pmem.store.knobs import Knob

CHECKOUT = Path(__file__).parent.parent
DOCS = CHECKOUT / "docs"
PAGES = sorted([*CHECKOUT.glob("*.md"), *DOCS.rglob("*.md")])


def shown(path: Path) -> str:
    return path.relative_to(CHECKOUT).as_posix()


def fences(page: Path, language: str) -> list[str]:
    """The code blocks of one language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    assert all(isinstance(block, str) for block in found)
    return found


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["commands.md", "rules.md"])
def test_what_is_generated_is_what_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == generator().pages()[DOCS / name], "run: make docs"


def test_every_command_and_option_says_what_it_does() -> None:
    import click

    from pmem.cli.main import pmem

    for ctx, name in generator().commands(pmem, click.Context(pmem, info_name="pmem")):
        assert ctx.command.help, f"{name} has no help"
        for parameter in ctx.command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts[0]} has no help"


def test_commands_in_the_documents_exist() -> None:
    import click

    from pmem.agents.registry import ADAPTERS
    from pmem.cli.main import pmem

    known = {name for _, name in generator().commands(pmem, click.Context(pmem, info_name="pmem"))}
    known |= {f"pmem {name}" for name in ADAPTERS}
    for page in PAGES:
        for line in commands_in(page):
            words = line.split()
            name = " ".join(words[:3]) if words[1:2] == ["bank"] else " ".join(words[:2])
            if len(words) > 1 and not words[1].startswith("-"):
                assert name in known, f"{shown(page)}: {line}"


def commands_in(page: Path) -> Iterator[str]:
    for block in fences(page, "sh"):
        for line in block.splitlines():
            if line.startswith("pmem"):
                yield re.split(r"\s{2,}", line)[0]


# --- links ------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The anchors that the headings of a page make, as GitHub has them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    heads = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).strip().replace(" ", "-") for h in heads}


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(
        r'(?:src|href)="([^"]+)"', text
    ):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{target} is not there"
        if anchor:
            assert anchor in anchors(file), f"{target}: no such heading"


def test_every_document_is_reached_from_the_readme() -> None:
    readme = (CHECKOUT / "README.md").read_text("utf-8")
    for page in DOCS.glob("*.md"):
        assert f"docs/{page.name}" in readme, f"{page.name} is not linked"


def test_every_room_stands_in_the_table_of_rooms() -> None:
    text = (DOCS / "architecture.md").read_text("utf-8")
    for room in (CHECKOUT / "pmem").iterdir():
        if (room / "__init__.py").exists():
            assert f"| `{room.name}` |" in text, f"{room.name} is not told"


# --- examples and settings --------------------------------------------------------------------


@pytest.mark.parametrize("example", fences(DOCS / "bank.md", "toml"))
def test_bank_examples_are_read_without_a_remark(example: str) -> None:
    from pmem.core.watch import parse_watch
    from pmem.store.bank_toml import loads

    remarks: list[str] = []
    bank = loads(example, remarks)
    assert remarks == []
    assert bank.entries
    for entry in bank.entries.values():
        if entry.when is not None:
            parse_watch(entry.when)


def test_the_first_bank_example_stands_as_pmem_would_write_it() -> None:
    from pmem.store.bank_toml import HEADER, dumps, loads

    example = fences(DOCS / "bank.md", "toml")[0]
    assert dumps(loads(example)).removeprefix(HEADER).strip() == example.strip()


def test_every_agent_has_its_row() -> None:
    from pmem.agents.registry import ADAPTERS

    text = (DOCS / "agents.md").read_text("utf-8")
    for adapter in ADAPTERS.values():
        if adapter.tells and adapter.name != "scripted":
            assert f"| {adapter.title} |" in text


def test_every_setting_stands_in_the_readme_with_its_default() -> None:
    from pmem.store.knobs import KNOBS

    text = (CHECKOUT / "README.md").read_text("utf-8")
    chapter = text.split("## Settings")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", chapter, re.M))
    for name, knob in KNOBS.items():
        assert f"`{name}`" in chapter, f"{name} is not told"
        if name in rows:
            default = (
                tomllib.loads(f"it = {rows[name]}")["it"] if knob_is_typed(knob) else rows[name]
            )
            assert default == (list(knob.default) if knob.default == () else knob.default), name


def knob_is_typed(knob: Knob) -> bool:
    return not isinstance(knob.default, str)


def test_the_picture_shows_a_reminder() -> None:
    assert "[MEMORY REMINDER]" in (DOCS / "demo.svg").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_toml_examples_are_toml(page: Path) -> None:
    for example in fences(page, "toml"):
        tomllib.loads(example)


# --- the README's own commands ----------------------------------------------------------------


def readme_commands() -> list[str]:
    """What the README tells to type, in its order; a comment at the end of a line left out."""
    lines = "\n".join(fences(CHECKOUT / "README.md", "sh")).splitlines()
    return [re.split(r"\s{2,}#", line)[0].strip() for line in lines if line.strip()]


def test_the_readme_begins_with_the_two_commands() -> None:
    assert readme_commands()[:2] == ["./install.sh --run", "./install.sh --test"]


@pytest.mark.slow
def test_the_readme_s_commands_do_what_they_say(home: Path, tmp_path: Path) -> None:
    """Each in the order of the README, in one project, by a person with an empty HOME.

    `--test` is what runs this very test, and what needs an agent or a person at the keyboard is
    tested where that is real.
    """
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("Never force-push.\n")
    (project / "Makefile").write_text("test:\n\ttrue\n")
    shutil.copy(CHECKOUT / "install.sh", project)
    env = {**os.environ, "HOME": str(home), "PATH": f"{launcher(tmp_path)}:{os.environ['PATH']}"}
    env["EDITOR"] = "true"
    worked_in(project, env)
    for command in readme_commands():
        if command.startswith(("./install.sh", "git clone", "cd ")) or interactive(command):
            continue
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=project,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def worked_in(project: Path, env: dict[str, str]) -> None:
    """An agent was here before: a session can be reported on."""
    log = SessionLog(
        find_project(project, env).state, "20261130-114207-claude", {"agent": "claude"}
    )
    log.step(Step(1, "command", "make test", "", exit_code=0))
    log.close()


def interactive(command: str) -> bool:
    return command in ("pmem", "pmem shell", "pmem review") or command.startswith("pmem claude")


def launcher(tmp_path: Path) -> Path:
    """A directory with the command `pmem` of this checkout."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "pmem"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pmem "$@"\n')
    script.chmod(0o755)
    return script.parent


# --- the tree itself --------------------------------------------------------------------------


def sources() -> list[Path]:
    places = ("pmem", "shells", "tests", "docs", "benchmarks", ".ci")
    files = [p for place in places for p in (CHECKOUT / place).rglob("*") if p.is_file()]
    files += [p for p in CHECKOUT.iterdir() if p.is_file()]
    return [p for p in files if "__pycache__" not in p.parts and p.suffix != ".pyc"]


def test_no_file_names_a_directory_of_somebody_s_machine() -> None:
    machine = re.compile(r"(?<![\w.$}~/])/(?:root|work)/[\w.-]+")
    for path in sources():
        found = machine.search(path.read_text("utf-8", "replace"))
        if path != Path(__file__):
            assert found is None, f"{shown(path)}: {found and found[0]}"
