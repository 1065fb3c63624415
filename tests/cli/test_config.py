"""`pmem config` and `pmem trust`: what is in force, where it is from, and changing it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pmem.store.knobs import KNOBS
from pmem.terminal.cells import width

Call = Callable[..., Any]


def test_every_setting_is_shown_with_its_place(project: Path, pmem: Call) -> None:
    told = json.loads(pmem("config", "--json").out)
    assert list(told) == list(KNOBS)
    assert told["interval"] == {"value": 5, "source": "default"}
    out = pmem("config", columns=80).out
    for name in KNOBS:
        assert f"\n{name} " in out
    assert max(width(line) for line in out.splitlines()) <= 80
    assert not (project / ".pmem").exists()


def test_what_is_said_last_wins(project: Path, home: Path, pmem: Call) -> None:
    def said(env: dict[str, str] | None = None) -> tuple[Any, str]:
        told = json.loads(pmem("config", "interval", "--json", env=env).out)["interval"]
        return told["value"], told["source"]

    pmem("config", "--user", "interval", "6")
    assert said() == (6, str(home / ".config" / "pmem" / "config.toml"))
    pmem("config", "interval", "7")
    assert said() == (7, str(project / ".pmem" / "pmem.toml"))
    assert said({"PMEM_INTERVAL": "8"}) == (8, "PMEM_INTERVAL")
    assert pmem("config", "--unset", "interval").err == (
        "pmem: interval is 6, from ../home/.config/pmem/config.toml\n"
    )


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("interval", "10", "10"),
        ("quiet", "yes", "true"),
        ("private", "op *,vault *", "op *, vault *"),
    ],
)
def test_a_value_is_set_and_read_back(pmem: Call, name: str, text: str, shown: str) -> None:
    assert pmem("config", name, text).err == f"pmem: {name} is {shown}, from .pmem/pmem.toml\n"
    assert pmem("config", name).out == f"{shown}\n"


def test_inside_a_session_it_says_that_the_next_one_takes_it(project: Path, pmem: Call) -> None:
    said = pmem("config", "private", "op *", env={"PMEM_SOCK": "/a/socket"}).err.splitlines()
    assert said[-1] == "pmem: the session that runs here goes on as it began; the next one takes it"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("intervall",), "did you mean interval?"),
        (("nonsense",), "pmem config shows all"),
        (("interval", "many"), "interval must be a whole number"),
        (("hold", "always"), "hold must be"),
        (("--unset",), "--unset takes a KEY"),
    ],
)
def test_what_cannot_be_set_is_told_and_nothing_is_written(
    project: Path, pmem: Call, args: tuple[str, ...], words: str
) -> None:
    said = pmem("config", *args)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert said.err.count("\n") == 1


def test_a_file_that_is_no_toml_is_told_with_its_place(project: Path, pmem: Call) -> None:
    (project / ".pmem").mkdir()
    (project / ".pmem" / "pmem.toml").write_text("interval = [\n")
    said = pmem("config")
    assert said.code == 2
    assert f"{project}/.pmem/pmem.toml" in said.err


def test_a_file_from_elsewhere_names_no_program_until_it_is_trusted(
    project: Path, pmem: Call
) -> None:
    (project / ".pmem").mkdir()
    (project / ".pmem" / "pmem.toml").write_text('model = "command:./evil"\ninterval = 9\n')
    assert pmem("config", "interval").out == "9\n"
    assert pmem("config", "model").out == "\n"
    for command in (("status",), ("config",), ("config", "interval"), ("config", "--json")):
        assert "pmem trust" in pmem(*command).err
    assert pmem("trust").err == "pmem: .pmem/pmem.toml is trusted as it stands\n"
    assert pmem("config", "model").out == "command:./evil\n"
    assert pmem("trust", "--revoke").err == "pmem: .pmem/pmem.toml is trusted no more\n"
    assert pmem("config", "model").out == "\n"


def test_where_there_is_no_file_nothing_has_to_be_trusted(pmem: Call) -> None:
    said = pmem("trust")
    assert said.code == 1
    assert "there is no .pmem/pmem.toml" in said.err
