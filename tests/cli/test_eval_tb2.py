"""`pmem eval tb2` before anything is run: a price without Harbor, and what cannot go together."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pmem.cli.environment import Environment
from pmem.cli.exits import Trouble
from pmem.cli.trials import Asked, begun
from pmem.evaluation.results import Config

Call = Callable[..., Any]
TASKS = Path(__file__).parents[1] / "evaluation" / "harbor_tasks"
OFF = ("eval", "tb2", "--arm", "off", "--action-model", "anthropic:claude-sonnet-4-5")
RULES = ("eval", "tb2", "--arm", "rules", "--action-model", "anthropic:claude-sonnet-4-5")


def test_a_dry_run_tells_the_price_and_writes_nothing(pmem: Call, tmp_path: Path) -> None:
    done = pmem(*OFF, "--to", "run", "--dry-run", "-k", "2", cwd=tmp_path)
    assert done.code == 0, done.err
    # 178 trials of 30 calls with 15,000 tokens in and 400 out, at 3 and 15 dollars a million.
    assert "178 trials of 30 steps (assumed, not measured)" in done.out
    assert "80,100,000 tokens in, 2,136,000 out, $272" in done.out
    assert not (tmp_path / "run").exists()
    some = pmem(*OFF, "--to", "run", "--dry-run", "--path", str(TASKS), cwd=tmp_path)
    assert "1 trial of 30 steps" in some.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*OFF, "--agent", "aider", "--turns", "9"), "--turns is for Terminus 2"),
        ((*OFF, "--agent", "aider", "--action-temperature", "1"), "--action-temperature is for"),
        ((*OFF, "--reach", "here"), "--reach goes with --agent"),
        ((*OFF, "--", "--model", "x"), "--model is said by an option"),
        ((*OFF, "--", "--agent=x"), "--agent=x is said by an option"),
        ((*OFF, "--memory-model", "openai:m"), "the arm off has no --memory-model"),
        ((*RULES, "--pure"), "pure is a form of the arm selective"),
        ((*RULES, "--embedder", "openai:e"), "the arm rules has no embedder"),
        ((*OFF, "--path", str(TASKS / "build-it"), "--tasks", "a"), "is one task"),
        (("eval", "tb2", "--arm", "bank", "--action-model", "m"), "needs a --memory-model"),
    ],
)
def test_what_cannot_go_together_is_said_in_one_line(
    pmem: Call, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    at = words.index("--") if "--" in words else len(words)
    done = pmem(*words[:at], "--to", "run", *words[at:], cwd=tmp_path)
    assert done.code == 2 and said in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_results_folder_is_for_one_run_at_a_time(tmp_path: Path) -> None:
    nothing = io.StringIO()
    environment = Environment(nothing, nothing, nothing, {}, tmp_path)
    config = Config("tb2", "off", "openai:m", tasks={"": ["a"]})

    def run(resume: bool = False, folder: str = "run") -> Any:
        what = Asked(Path(folder), resume, False, (), {}, {}, {})
        return begun(environment, what, config, {})

    with run() as first, run(folder="other"):
        for again in (run(), run(resume=True)):
            with pytest.raises(Trouble, match=r"another run is at work in .*/run; wait"), again:
                pass
    with run(resume=True) as gone_on:
        assert gone_on.missing() == first.missing()
    (tmp_path / "file").touch()
    with pytest.raises(Trouble, match=r"cannot use .*/file: File exists"), run(folder="file"):
        pass
