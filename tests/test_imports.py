"""Who may import whom: docs/architecture.md, "Rooms", held against the real imports."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "pmem"

#: A room may import itself and these; `pmem` alone is the version and the lazy public names.
MAY_IMPORT = {
    "core": set(),
    "memory": {"core", "models.protocol"},
    "models": {"core", "extra"},
    "store": {"core"},
    "terminal": {"core"},
    "hook": {"core"},
    "agents": {"core", "hook.line"},
    "proxy": {"core", "extra"},
    "demo": {"core", "memory", "agents", "terminal"},
    "session": {"core", "memory", "models", "store", "terminal.link", "agents", "hook", "proxy"},
    "review": {"core", "memory", "store", "session", "terminal.cells"},
    "evaluation": {
        *("core", "memory", "models", "store", "session", "extra", "proxy", "agents.proxied"),
    },
    "training": {"core", "memory", "models", "store", "session", "evaluation", "review.after"},
    "library": {"core", "memory", "models"},
}

#: What the pure core does without: files, clock, network, processes, chance.
IMPURE = {
    "asyncio",
    "datetime",
    "glob",
    "http",
    "os",
    "pty",
    "random",
    "select",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "urllib",
    "uuid",
}

#: What `pmem` does without until it is needed: each would be felt at the start.
HEAVY = (
    "aiohttp",
    "anthropic",
    "asyncio",
    "datasets",
    "detect_secrets",
    "httpx",
    "jinja2",
    "multiprocessing",
    "openai",
    "peft",
    "prompt_toolkit",
    "pydantic",
    "rich",
    "sklearn",
    "torch",
    "transformers",
    "tree_sitter",
    "tree_sitter_bash",
    "trl",
)


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every import of a file, as (line, dotted name); `from a import b` is `a.b` and `a`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write the import out in full"
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield node.lineno, whole if is_module(whole) else str(node.module)


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def allowed(importer: str, imported: str) -> bool:
    if imported in ("pmem", "__future__") or room(imported) == room(importer):
        return True
    inside = imported.removeprefix("pmem.")
    rules = MAY_IMPORT[room(importer)]
    return any(inside == rule or inside.startswith(f"{rule}.") for rule in rules)


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_a_module_imports_only_from_the_rooms_below_it(path: Path) -> None:
    importer = dotted(path)
    ours = [(line, name) for line, name in imports(path) if name.split(".")[0] == "pmem"]
    if room(importer) in ("cli", "__main__"):
        return
    assert [f"{path.name}:{line} {name}" for line, name in ours if room(name) == "cli"] == []
    if room(importer) == "":
        return
    wrong = [f"{path.name}:{line} {name}" for line, name in ours if not allowed(importer, name)]
    assert wrong == []


def test_every_room_has_its_rule() -> None:
    rooms = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()}
    assert rooms - {"cli"} <= MAY_IMPORT.keys()


@pytest.mark.parametrize(
    "path", [p for p in modules() if room(dotted(p)) == "core"], ids=lambda p: p.name
)
def test_the_core_is_pure(path: Path) -> None:
    wrong = [f"{path.name}:{n} {name}" for n, name in imports(path) if name.split(".")[0] in IMPURE]
    assert wrong == []
    calls = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("open", "print", "input")
    ]
    assert calls == []


def test_the_hook_client_imports_almost_nothing() -> None:
    client = PACKAGE / "hook" / "client.py"
    assert {name.split(".")[0] for _, name in imports(client)} <= {
        "__future__",
        "_signal",
        "_socket",
        "os",
        "sys",
    }


def loaded_by(statement: str) -> set[str]:
    """The modules in memory after a statement, in an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules, sep='\\n')"],
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,
        check=True,
    )
    return set(done.stdout.split())


def test_the_command_line_loads_nothing_heavy() -> None:
    assert loaded_by("import pmem.cli.main") & set(HEAVY) == set()


def test_the_package_itself_loads_nothing() -> None:
    ours = {m for m in loaded_by("import pmem") if m.split(".")[0] == "pmem"}
    assert ours == {"pmem"}


def test_the_terminal_room_loads_nothing_heavy() -> None:
    names = [dotted(p) for p in modules() if room(dotted(p)) == "terminal"]
    assert loaded_by(f"import {', '.join(names)}") & set(HEAVY) == set()


def test_starting_a_program_loads_what_it_takes_and_no_more(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pmem", "run", "true"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pexpect" not in loaded and "pmem.session.process" in loaded  # without a terminal
    spared = {*HEAVY, "_hashlib", "random", "ssl", "tempfile", "tomllib"}
    assert loaded & spared == set()
