"""A results folder: what is written is read back, and a run that was killed goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from recorded_results import TASKS, config, recorded, trials

from pmem.evaluation.results import Trial, begin, load

#: Writes trials one by one until it is killed; tells each once it is on disk.
WRITER = """
import sys, time
from pathlib import Path
from recorded_results import config, trials
from pmem.evaluation.results import begin
results = begin(Path(sys.argv[1]), config("selective"), {}, resume=True)
left = results.missing()
for trial in trials("selective"):
    if trial.id in left:
        results.add(trial, [{"decision": "silence"}])
        print(*trial.id, flush=True)
        time.sleep(float(sys.argv[2]))
"""


def test_a_folder_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    written = recorded(tmp_path, "selective")
    read = load(tmp_path / "selective")
    assert (read.config.arm, read.config.name) == ("selective", "pure")
    assert read.trials == written.trials == trials("selective")
    assert read.decisions(read.trials[0])[0]["decision"] == "silence"
    assert read.versions["tau2"] == "26.3" and read.versions["python"]
    assert read.missing() == [] and read.config.trials == 10


def test_a_killed_run_goes_on_without_losing_or_repeating_a_trial(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, folder, "60"], stdout=subprocess.PIPE, text=True, env=env
    )
    assert writer.stdout is not None
    first = writer.stdout.readline().split()
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    with (folder / "trials.jsonl").open("a") as file:
        file.write('{"domain": "airline", "task": "1", "n"')
    assert [list(map(str, t.id)) for t in load(folder).trials] == [first]
    done = subprocess.run(
        [sys.executable, "-c", WRITER, folder, "0"], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    assert " ".join(first) not in done.stdout.splitlines()
    assert sorted(t.id for t in load(folder).trials) == sorted(t.id for t in trials("selective"))
    assert load(folder).missing() == []


def test_a_run_is_not_mixed_with_another(tmp_path: Path) -> None:
    recorded(tmp_path, "off")
    with pytest.raises(ValueError, match="holds a run already; --resume goes on with it"):
        begin(tmp_path / "off", config("off"), {})
    with pytest.raises(ValueError, match=r"other settings \(interval\); name another folder"):
        begin(tmp_path / "off", replace(config("off"), interval=5), {}, resume=True)
    assert begin(tmp_path / "off", config("off"), {"tau2": "27"}, resume=True).missing() == []


def test_trials_of_a_task_are_told_apart(tmp_path: Path) -> None:
    results = begin(tmp_path / "k", replace(config("off"), k=2, tasks={"": ["a/b", "c"]}), {})
    results.add(Trial("", "a/b", 0, 1.0))
    assert results.missing() == [("", "c", 0), ("", "a/b", 1), ("", "c", 1)]
    assert [p.name for p in (tmp_path / "k" / "decisions").iterdir()] == ["a_b__0.jsonl"]


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("config.json", "{", "config.json: "),
        ("config.json", '{"format": 9}', "is not of the format 1"),
        ("config.json", '{"format": 1, "arm": "off"}', "config.json: missing 2 required"),
        ("config.json", '{"format": 1, "arm": 3}', "config.json: arm has the wrong type, int"),
        (
            "config.json",
            '{"format": 1, "benchmark": "b", "arm": "off", "action_model": "m", "tasks": {"": 5}}',
            "config.json: tasks are no lists by domain",
        ),
        ("trials.jsonl", "[]\n", "line 1: it is no object"),
        ("trials.jsonl", '{"domain": "a", "task": "1"}\n', "line 1: missing 2 required"),
        (
            "trials.jsonl",
            '{"domain": "a", "task": "1", "n": 0, "reward": "1"}\n',
            "line 1: reward has the wrong type, str",
        ),
        (
            "trials.jsonl",
            '{"domain": "a", "task": "1", "n": 0, "reward": 1}\n' * 2,
            "line 2: the trial .* is there twice",
        ),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, file: str, text: str, says: str) -> None:
    recorded(tmp_path, "off")
    (tmp_path / "off" / file).write_text(text)
    with pytest.raises(ValueError, match=says):
        load(tmp_path / "off")


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"config\.json is not there; is .* a results folder"):
        load(tmp_path)


def test_the_folder_says_all_that_was_set(tmp_path: Path) -> None:
    recorded(tmp_path, "off")
    told = json.loads((tmp_path / "off" / "config.json").read_text())
    assert told["tasks"] == TASKS and told["interval"] == 1 and told["versions"]["tau2"] == "26.3"
