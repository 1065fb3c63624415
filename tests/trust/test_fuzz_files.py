"""Files that somebody else wrote, or broke: every command that reads them ends with words."""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from made import ID, story
from mutants import ODD, mutants

from pmem.agents.protocol import HookLine
from pmem.agents.registry import PLACES, Adapters
from pmem.cli.environment import Environment
from pmem.cli.main import run
from pmem.store.bank_toml import BankError
from pmem.store.knobs import SettingsError
from pmem.store.project import find_project

#: What reads: with files as they should be, each of them ends with 0.
COMMANDS = (
    *("status", "bank list", "bank show npm-test", "bank check --secrets", "bank export", "log"),
    *(f"log {ID} --json", f"export {ID} --format atif --output -", "config", "trust --help"),
    *(f"export {ID} --format markdown --output -", f"report {ID} --output report.html"),
    *("replay run.jsonl", "bank import theirs.json", "mute npm-test", "config arm off"),
)


class Story:
    """A project with a session in it; its files can be put back as they were."""

    def __init__(self, place: Path, home: Path) -> None:
        self.root, self.home = place / "project", home
        self.root.mkdir()
        project = find_project(self.root, os.environ)
        story(project)
        (self.root / ".pmem" / "pmem.toml").write_text('arm = "rules"\nprivate = ["op *"]\n')
        shutil.copy(project.state / ID / "steps.jsonl", self.root / "run.jsonl")
        assert self.ends("bank export --output theirs.json") == 0
        places = (self.root, home / ".local")
        files = (path for place in places for path in place.rglob("*") if path.is_file())
        self.files = {path: path.read_bytes() for path in files}

    def ends(self, command: str) -> int:
        """The exit code; whatever is no word for the user is raised."""
        env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "PMEM_DEBUG": "1"}
        out = (io.StringIO(), io.StringIO())
        environment = Environment(
            stdin=io.StringIO(""), stdout=out[0], stderr=out[1], env=env, cwd=self.root, width=80
        )
        try:
            code = run(command.split(), environment)
        except (SettingsError, BankError) as error:  # said in its words, without PMEM_DEBUG
            assert str(error)
            return 1
        assert code == 0 or any(one.getvalue().strip() for one in out)
        return code

    def restore(self) -> None:
        for path, content in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def lines_of(content: bytes) -> list[Any]:
    """The lines as objects where they are such."""
    found: list[Any] = []
    for line in content.decode("utf-8", "replace").split("\n"):
        try:
            value = json.loads(line)
        except ValueError:
            value = line
        found.append(value if isinstance(value, dict) else line)
    return found


@st.composite
def broken(draw: st.DrawFn, content: bytes, name: str) -> bytes:
    """A file with one of its lines, or of its tables, changed; or anything."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from([b"", b"\x00" * 40, b"\xff\xfe", b"[" * 9000]) | st.binary())
    if name.endswith(".toml") and draw(st.booleans()):
        # The same tables with odd values in them, as TOML can hold them.
        changed = json.loads(draw(mutants([tomllib.loads(content.decode())]).filter(is_json)))
        try:
            return tomli_w.dumps(changed).encode("utf-8", "replace")
        except (TypeError, ValueError, AttributeError):
            return content
    lines = lines_of(content)
    at = draw(st.integers(0, len(lines) - 1))
    told = [one if isinstance(one, str) else json.dumps(one) for one in lines]
    kept = [line.encode() for line in told]
    kept[at] = draw(mutants([lines[at]]))
    return b"\n".join(kept)


def is_json(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


@pytest.fixture
def told(tmp_path: Path, home: Path) -> Story:
    return Story(tmp_path, home)


def test_of_files_as_they_should_be_every_command_tells(told: Story) -> None:
    for command in COMMANDS:
        assert told.ends(command) in (0, 1), command  # 1: replay is told of nothing said
        told.restore()


def test_whatever_a_file_holds_a_command_ends_with_words(told: Story) -> None:
    names = sorted(told.files)

    @examples(150)
    @given(st.data(), st.sampled_from(names), st.sampled_from(COMMANDS))
    def tried(data: st.DataObject, path: Path, command: str) -> None:
        told.restore()
        path.write_bytes(data.draw(broken(told.files[path], path.name)))
        told.ends(command)

    tried()
    told.restore()


#: What the agents' own settings can say that pmem looks at, by their place under HOME.
SETTINGS: dict[str, dict[str, Any]] = {
    ".claude/settings.json": {
        "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "x"}]}]},
        "env": {"ANTHROPIC_BASE_URL": "http://h/"},
        "disableAllHooks": False,
        "allowManagedHooksOnly": True,
    },
    ".gemini/settings.json": {"hooksConfig": {"enabled": True}, "hooks": {"disabled": ["x"]}},
    ".qwen/settings.json": {"hooks": {"enabled": True}, "env": {"OPENAI_BASE_URL": "http://h/"}},
    ".codex/config.toml": {
        "features": {"hooks": True, "codex_hooks": False},
        "model_provider": "p",
        "model_providers": {"p": {"base_url": "http://h/v1", "wire_api": "responses"}},
    },
    ".config/opencode/opencode.json": {
        "plugin": ["x"],
        "provider": {"p": {"options": {"baseURL": "h"}}},
    },
    ".cline/data/settings/providers.json": {"hooks-enabled": True, "planModeApiProvider": "openai"},
    ".copilot/config.json": {"hooks": {}, "plugins": ["x"]},
    ".pi/agent/settings.json": {"packages": ["x"], "extensions": ["y"]},
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in PLACES if name != "generic"])
def test_whatever_an_agents_settings_are_it_is_started_or_told(name: str, home: Path) -> None:
    files = st.fixed_dictionaries(
        {place: mutants([content]) for place, content in SETTINGS.items()}
    )

    @examples(30)
    @given(files, st.sampled_from(["", "settings", "config"]), st.sampled_from(ODD))
    def tried(written: dict[str, bytes], option: str, odd: Any) -> None:
        for place, content in written.items():
            path = home / place
            path.parent.mkdir(parents=True, exist_ok=True)
            if place.endswith(".toml") and is_json(content):
                with_odd = json.loads(content)
                try:
                    content = tomli_w.dumps(with_odd).encode("utf-8", "replace")
                except (TypeError, ValueError, AttributeError):
                    continue
            path.write_bytes(content)
        odd = json.dumps(odd) if not isinstance(odd, str) else odd
        args = [f"--{option}", odd] if option else []
        env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "OPENCODE_CONFIG_CONTENT": odd}
        with tempfile.TemporaryDirectory() as run_dir:
            adapter = type(Adapters()[name])()
            try:
                adapter.launch("/bin/true", args, HookLine("x"), Path(run_dir), env, home)
            except ValueError as error:
                assert str(error)

    tried()
