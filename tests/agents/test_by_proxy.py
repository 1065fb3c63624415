"""Real agents behind the model proxy: the reminder stands in its place of the next request, the
agent ends as without pmem, and no key is kept.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from agent_table import AGENTS, LAST, Agent
from benches import bench_of, maker, node_directory
from real_agents import STUCK, Bench, Model, npm_installed, venv_installed
from whole_runs import PMEM, counts, steps

from pmem.core.decision import HEADER

pytestmark = pytest.mark.slow

StartModel = Callable[[Sequence[Any]], Model]

BUILD = {"shell": "make build"}
#: A key that a service would take; it must stand in no file that pmem wrote.
KEY = "sk-ant-api03-kept-nowhere-kept-nowhere-kept-nowhere-9f3a7"
#: Where agents keep what is theirs, in HOME.
AGENTS_OWN = {".claude", ".claude.json", ".codex", ".gemini", ".qwen", ".cline", ".copilot"}
#: The variables that hold it, by agent.
KEYS = {
    "claude": "ANTHROPIC_API_KEY",
    "codex": "SCRIPTED_KEY",
    "gemini": "GEMINI_API_KEY",
    "copilot": "COPILOT_PROVIDER_API_KEY",
}
REACHED = [agent for agent in AGENTS if agent.name != "pi"]  # pi has no base URL to turn


@pytest.mark.parametrize("agent", REACHED, ids=lambda agent: agent.name)
def test_a_reminder_stands_behind_the_result_it_belongs_to_and_stays(
    agent: Agent, model: StartModel, outside: Path
) -> None:
    script = agent.play(BUILD, BUILD, {"shell": "cat Makefile"}, BUILD, {"shell": "echo on"})
    played = model(script)
    bench = maker(agent.name, outside)(played)
    bench.env[KEYS.get(agent.name, "OPENAI_API_KEY")] = KEY
    done = bench.run([*PMEM, "run", "--via", "proxy", bench.program.name, *agent.headless])
    assert done.returncode == 0, done.stderr
    assert LAST["text"] in done.stdout
    assert counts(played) == [0, 0, 0, 0, 1, 1]
    fifth, sixth = (request["body"] for request in played.requests()[-2:])
    assert place_of(fifth) == "last", json.dumps(fifth)[-2000:]
    assert sixth_begins_with_fifth(fifth, sixth)
    ran = [(s["action"], s.get("exit_code")) for s in steps(bench) if s["kind"] == "command"]
    told = 2 if agent.name != "opencode" else None  # it tells its model no exit code
    assert [one for one in ran if one[0] == "make build"] == [("make build", told)] * 3


def test_aider_goes_through_the_proxy_by_itself(fakellm: ModuleType, outside: Path) -> None:
    """Its commands stand in words: a block of the model's, and an output its user adds."""
    words = {"text": "Build it:\n\n```bash\nmake build\n```\n"}
    program = venv_installed("aider-chat", "0.86.2", "aider")

    def aider(name: str, *before: str) -> tuple[Model, Bench, subprocess.CompletedProcess[str]]:
        log = outside / f"{name}.jsonl"
        _, port = fakellm.serve(0, [words, LAST], str(log), text_mode=True)
        played = Model(f"http://127.0.0.1:{port}", log)
        env = {
            "TERM": "dumb",
            "OPENAI_API_BASE": f"{played.url}/v1",
            "OPENAI_API_KEY": KEY,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        bench = bench_of(outside / name, program, env, program.parent)
        bench.run(["git", "init", "-q"])
        (bench.project / ".gitignore").write_text(".aider*\n.pmem\n")
        if before:
            text = "make build needs DB=sqlite here."
            bench.run([*PMEM, "bank", "add", text, "--command", "make build"])
        quiet = ("--no-show-release-notes", "--no-check-update", "--analytics-disable")
        plain = ("--no-pretty", "--no-stream", "--no-auto-commits", "--no-show-model-warnings")
        argv = ["aider", "--model", "openai/scripted", "--edit-format", "diff", *quiet, *plain]
        done = subprocess.run(
            [*before, *argv],
            input="build it\ny\ny\nso?\n/exit\n",  # run it, add its output
            cwd=bench.project,
            env=bench.env,
            capture_output=True,
            text=True,
            timeout=STUCK,
        )
        return played, bench, done

    _, _, without = aider("bare")
    played, bench, done = aider("pmem", *PMEM, "run")
    assert done.returncode == without.returncode == 0, done.stderr
    assert LAST["text"] in done.stdout and LAST["text"] in without.stdout
    bodies = [request["body"] for request in played.requests()]
    assert [json.dumps(body).count(HEADER) for body in bodies] == [0, 1]
    assert place_of(bodies[1]) == "last"
    told = [(s["kind"], s["action"] or s["observation"]) for s in steps(bench)]
    assert told == [("user", "build it"), ("command", "make build"), ("user", "so?")]


@pytest.mark.usefixtures("no_hubs")
def test_cline_goes_through_the_proxy_by_itself(model: StartModel, outside: Path) -> None:
    program = npm_installed("cline", "3.0.65", "cline")
    script = [BUILD, BUILD, {"shell": "cat Makefile"}, BUILD, {"shell": "echo on"}, LAST]

    def cline(name: str, *before: str) -> tuple[Model, Bench, subprocess.CompletedProcess[str]]:
        played = model(script)
        bench = bench_of(outside / name, program, {}, program.parent, node_directory())
        url = ("-m", "scripted", "-b", f"{played.url}/v1")
        bench.run([program, "auth", "-p", "openai", "-k", KEY, *url])
        done = bench.run([*before, "cline", "-P", "openai", "build it"])
        return played, bench, done

    _, _, without = cline("bare")
    played, bench, done = cline("pmem", *PMEM, "run")
    assert done.returncode == without.returncode == 0, done.stderr
    assert LAST["text"] in done.stdout and LAST["text"] in without.stdout
    assert counts(played) == [0, 0, 0, 0, 1, 1]
    fifth, sixth = (request["body"] for request in played.requests()[-2:])
    assert place_of(fifth) == "last"
    assert sixth_begins_with_fifth(fifth, sixth)
    ran = [(s["action"], s.get("exit_code")) for s in steps(bench) if s["kind"] == "command"]
    assert ran[:3] == [("make build", 2), ("make build", 2), ("cat Makefile", 0)]
    settings = bench.home / ".cline" / "data" / "settings" / "providers.json"
    assert f"{played.url}/v1" in settings.read_text()


def test_codex_s_websocket_is_turned_away_and_it_goes_on(model: StartModel, outside: Path) -> None:
    """Its own provider tries a WebSocket first."""
    played = model([BUILD, LAST])
    bench = maker("codex", outside)(played)
    config = bench.home / ".codex" / "config.toml"
    text = re.sub(r"model_provider = .*?\n\[features", "[features", config.read_text(), flags=re.S)
    config.write_text(f'openai_base_url = "{played.url}/v1"\n{text}')
    bench.env["OPENAI_API_KEY"] = KEY
    (agent,) = [agent for agent in AGENTS if agent.name == "codex"]
    (bench.home / ".codex" / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": KEY}))
    done = bench.run([*PMEM, "run", "--via", "proxy", "codex", *agent.headless])
    assert done.returncode == 0, done.stderr
    assert LAST["text"] in done.stdout
    assert [s["action"] for s in steps(bench) if s["kind"] == "command"] == ["make build"]


def place_of(body: Mapping[str, Any]) -> str:
    """Where the reminder stands in a request: `last` if nothing is behind it."""
    items = body.get("messages") or body.get("input") or body.get("contents")
    assert isinstance(items, list)
    last = items[-1]
    parts = last.get("content") or last.get("parts")
    words = parts if isinstance(parts, str) else parts[-1].get("text", "")
    ends = words.rstrip().endswith("verify before relying on them.)")
    assert HEADER in words and last.get("role") in ("user", "developer", "system")
    return "last" if ends else "inside"


def sixth_begins_with_fifth(fifth: Mapping[str, Any], sixth: Mapping[str, Any]) -> bool:
    """Whether the earlier conversation stands unchanged at the head of the later one."""
    (name,) = {"messages", "input", "contents"} & fifth.keys()
    heads = [[plain(item) for item in body[name]] for body in (fifth, sixth)]
    return heads[1][: len(heads[0])] == heads[0]


def plain(item: Any) -> str:
    """An item without its cache marks, which an agent moves on; a lone text in either shape."""
    text = json.dumps(item, sort_keys=True)
    text = re.sub(r'(?:, )?"cache_control": \{[^}]*\}(?:, )?', "", text)
    return re.sub(r'\[\{"text": ("(?:[^"\\]|\\.)*"), ?"type": "text"\}\]', r"\1", text)


@pytest.fixture(autouse=True)
def a_key_stands_in_no_file(outside: Path) -> Iterator[None]:
    """Every file below HOME and the project is searched, but what an agent keeps for itself."""
    yield
    files = [path for path in outside.rglob("*") if path.is_file() and not path.is_symlink()]
    found = [path for path in files if KEY.encode() in path.read_bytes()]
    assert [str(path) for path in found if not AGENTS_OWN.intersection(path.parts)] == []


@pytest.fixture
def no_hubs(outside: Path) -> Iterator[None]:
    """Cline leaves a hub of its own behind for each HOME, which may come late: it is ended."""
    yield
    for _ in range(20):
        listed = subprocess.run(
            ["ps", "-eww", "-o", "pid=,args="], capture_output=True, text=True
        ).stdout
        for line in listed.splitlines():
            if "--cline-hub-daemon" in line and str(outside) in line:
                subprocess.run(["kill", line.split()[0]])
        time.sleep(0.1)
