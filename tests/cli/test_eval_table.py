"""`pmem eval table` and `pmem eval paper`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from recorded_results import recorded

from pmem.cli.eval_tau2 import tau2
from pmem.cli.eval_tb2 import tb2
from pmem.evaluation.paper import Row, config_of, rows

Call = Callable[..., Any]


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    return [str(recorded(tmp_path, arm).folder) for arm in ("off", "selective")]


def test_the_table_fits_a_narrow_terminal(pmem: Call, folders: list[str]) -> None:
    said = pmem("eval", "table", *folders, columns=80)
    assert said.code == 0, said.err
    assert max(map(len, said.out.splitlines())) <= 80
    pure = next(line for line in said.out.splitlines() if line.startswith("pure"))
    shown = "pure 10 70.0 39.7–89.2 61.9 +30.0 .375 0.840 0.79"
    assert pure.split() == shown.split()
    assert "75.0 (78.0)" in said.out and "in brackets: the paper" in said.out


@pytest.mark.parametrize("columns", [40, 50, 60, 70, 80, 200])
def test_no_figure_is_cut_whatever_the_width(pmem: Call, folders: list[str], columns: int) -> None:
    out = pmem("eval", "table", *folders, columns=columns).out
    first = [line for line in out.splitlines() if line.startswith("pure")]
    assert len(first) == 2 and "+30.0" in first[0].split() and ".375" in first[0].split()
    assert "70.0" in first[0].split() and "70.8" in first[1].split()
    assert ("39.7–89.2" in first[0]) == (columns >= 76)


def test_the_table_as_data_and_as_a_picture(pmem: Call, folders: list[str], tmp_path: Path) -> None:
    picture = tmp_path / "pass.svg"
    said = pmem("eval", "table", *folders, "--json", "--plot", str(picture))
    off, pure = json.loads(said.out)
    assert (off["pass"], pure["pass"], pure["against"]["gain"]) == (40.0, 70.0, 30.0)
    assert picture.read_text().startswith("<svg")


def test_another_base_may_be_named(pmem: Call, folders: list[str]) -> None:
    said = pmem("eval", "table", *folders, "--base", folders[1], "--json")
    assert json.loads(said.out)[0]["against"]["gain"] == -30.0


def test_a_run_that_is_not_over_says_so(pmem: Call, folders: list[str]) -> None:
    trials = Path(folders[0]) / "trials.jsonl"
    trials.write_text("".join(trials.read_text().splitlines(keepends=True)[:7]))
    assert "off: 7 of 10 trials are finished" in pmem("eval", "table", folders[0]).out
    trials.write_text("")
    said = pmem("eval", "table", folders[0])
    assert (said.code, "holds no finished trial yet" in said.err) == (2, True)


def test_what_is_no_results_folder_is_told(pmem: Call, tmp_path: Path) -> None:
    said = pmem("eval", "table", str(tmp_path))
    assert said.code == 2 and "is not there; is" in said.err


def test_the_papers_rows(pmem: Call) -> None:
    said = pmem("eval", "paper", columns=80)
    assert said.code == 0 and max(map(len, said.out.splitlines())) <= 80
    assert "tau2-sonnet-mem0" in said.out and "tb2-opus-selective" in said.out
    assert len(json.loads(pmem("eval", "paper", "--json").out)) == 12


def test_a_row_says_its_settings_and_its_price_before_anything_runs(
    pmem: Call, folders: list[str]
) -> None:
    out = pmem("eval", "paper", "tau2-sonnet-selective", columns=80).out
    assert "temperature 0.7" in out and "temperature 0.3" in out and "--pure" in out
    assert "278 trials of 25 steps (assumed, not measured)" in out
    assert "61.1 by task, 64.3 macro" in out  # as its ablations have it once more
    assert max(map(len, out.splitlines())) <= 80
    out = pmem("eval", "paper", "tau2-sonnet-selective", "--like", folders[1]).out
    assert "as the results folder has it" in out
    cost = json.loads(pmem("eval", "paper", "tb2-sonnet-off", "--json").out)["cost"]
    assert cost["trials"] == 85 and cost["memory_tokens"] == 0 and cost["money"] > 0


def test_a_price_is_not_measured_by_what_does_not_fit(pmem: Call, folders: list[str]) -> None:
    like = ("--like", folders[1])
    assert "--like is for one row" in pmem("eval", "paper", *like).err
    said = pmem("eval", "paper", "tb2-sonnet-off", *like)
    assert (said.code, "is of tau2-bench; name another" in said.err) == (2, True)
    (Path(folders[1]) / "trials.jsonl").write_text("")
    said = pmem("eval", "paper", "tau2-sonnet-selective", *like)
    assert (said.code, "holds no finished trial yet" in said.err) == (2, True)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_the_command_of_a_row_has_all_its_settings(pmem: Call, row: Row) -> None:
    said = pmem("eval", "paper", row.name).out.partition("run it with:")[2]
    words = shlex.split(said.replace("\\\n", " "))
    assert words[:3] == ["pmem", "eval", row.benchmark]
    command = {"tau2": tau2, "tb2": tb2}[row.benchmark]
    given = command.make_context("x", words[3:]).params
    wanted = config_of(row)
    for name in ("arm", "pure", "action_model", "memory_model", "action_temperature", "turns", "k"):
        assert given[name] == getattr(wanted, name)
    if row.memory_model:
        for name in ("memory_temperature", "interval", "window"):
            assert given[name] == getattr(wanted, name)
    assert given["tasks"] == "" and given["folder"] == Path(row.name)  # all of them


def test_a_row_that_is_not_there_names_those_that_are(pmem: Call) -> None:
    said = pmem("eval", "paper", "tau2-haiku")
    assert said.code == 2 and "tau2-sonnet-off" in said.err


@pytest.mark.parametrize(
    ("arm", "more", "says"),
    [
        ("always", (), "the arm always needs a --memory-model"),
        ("rules", ("--memory-model", "openai:m"), "the arm rules has no --memory-model"),
        ("off", ("--pure",), "pure is a form of the arm selective, not of off"),
        ("off", ("--embedder", "openai:e"), "the arm off has no embedder"),
        ("mem0", (), "the arm mem0 needs a --memory-model"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(
    pmem: Call, arm: str, more: tuple[str, ...], says: str
) -> None:
    said = pmem("eval", "tau2", "--arm", arm, "--action-model", "openai:a", "--to", "x", *more)
    assert (said.code, says in said.err) == (2, True)


@pytest.mark.skipif(find_spec("tau2") is not None, reason="tau2-bench is installed here")
def test_without_the_benchmark_it_says_what_to_install(pmem: Call, project: Path) -> None:
    said = pmem("eval", "tau2", "--arm", "off", "--action-model", "openai:a", "--to", "x")
    assert said.code == 125 and "tau2-bench is not installed (PyPI's tau2 is another" in said.err
    assert not (project / "x").exists()


def test_the_documents_prices_are_those_of_the_command(pmem: Call) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text("utf-8")
    told = {
        row.name: round(json.loads(pmem("eval", "paper", row.name, "--json").out)["cost"]["money"])
        for row in rows()
    }
    for line in page.partition("| dollars |\n")[2].partition("\n\n")[0].splitlines()[1:]:
        names, *_, dollars = (cell.strip() for cell in line.strip("|").split("|"))
        first, *others = re.split(r", | / ", names)
        rowed = [first, *(first.rpartition("-")[0] + other for other in others)]
        asked = dollars.split(" / ") if "/" in dollars else [dollars] * len(rowed)
        for name, money in zip(rowed, asked, strict=True):
            assert told.pop(name) == int(money)
    assert told == {}
