"""`pmem proxy` and `pmem run --via proxy`, as a person types them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from services import STUCK, Service, fine
from wires import CHAT

from pmem.agents.base_urls import through

PMEM = (sys.executable, "-m", "pmem")
#: Tells what is set for it, and asks its model once.
PROGRAM = """\
import http.client, os, sys
from urllib.parse import urlsplit
for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE", "GOOGLE_GEMINI_BASE_URL"):
    print(name, os.environ[name])
url = urlsplit(os.environ["OPENAI_BASE_URL"])
client = http.client.HTTPConnection(url.netloc)
client.request("POST", url.path + "/chat/completions", sys.stdin.buffer.read())
print(client.getresponse().read().decode())
sys.exit(7)
"""


@pytest.fixture
def service() -> Iterator[Service]:
    one = Service(fine)
    yield one
    one.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


def pmem(
    project: Path, *args: str, data: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PMEM, *args],
        cwd=project,
        env={**os.environ, **(env or {})},
        input=data,
        capture_output=True,
        timeout=STUCK,
    )


def test_a_program_runs_with_the_variables_set_and_its_own_exit_code(
    service: Service, project: Path
) -> None:
    data = CHAT.body([CHAT.task("go")])
    program = (sys.executable, "-c", PROGRAM)
    env = {"OPENAI_BASE_URL": f"{service.url}/special/v1"}
    for words in (("proxy", "--"), ("run", "--via", "proxy", "--")):
        done = pmem(project, *words, *program, data=data, env=env)
        assert done.returncode == 7, done.stderr
        told = dict(line.split(" ", 1) for line in done.stdout.decode().splitlines()[:-1])
        assert all(url.startswith("http://127.0.0.1:") for url in told.values())
        assert told["OPENAI_BASE_URL"] == told["OPENAI_API_BASE"]
        assert told["OPENAI_BASE_URL"].endswith("/v1") and done.stdout.endswith(b"{}\n")
    lines = [request.line for request in service.requests]
    assert lines == ["POST /special/v1/chat/completions HTTP/1.1"] * 2
    assert service.requests[0].body == data
    logged = pmem(project, "log", "--json").stdout
    assert json.loads(logged)["observation"] == "go"


def test_one_service_behind_all_of_it(service: Service, project: Path) -> None:
    program = (sys.executable, "-c", PROGRAM)
    done = pmem(project, "proxy", "--upstream", f"{service.url}/v9", "--", *program)
    assert done.returncode == 7, done.stderr
    assert [r.line for r in service.requests] == ["POST /v9/chat/completions HTTP/1.1"]


def test_one_service_with_a_version_for_clients_that_add_it(
    service: Service, project: Path
) -> None:
    ask = (
        "import os, urllib.request as r\n"
        "for name, path in (('ANTHROPIC_BASE_URL', '/v1/messages'), ('OPENAI_BASE_URL', '/x')):\n"
        "    r.urlopen(os.environ[name] + path, b'{}').read()\n"
    )
    done = pmem(
        project, "proxy", "--upstream", f"{service.url}/v1", "--", sys.executable, "-c", ask
    )
    assert done.returncode == 0, done.stderr
    assert [r.line for r in service.requests] == [
        "POST /v1/messages HTTP/1.1",
        "POST /v1/x HTTP/1.1",
    ]


def test_without_a_program_it_serves_until_it_is_told_to_end(
    service: Service, project: Path
) -> None:
    env = {**os.environ, "OPENAI_BASE_URL": f"{service.url}/v1"}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    running = subprocess.Popen(
        [*PMEM, "proxy", "--port", str(port)], cwd=project, env=env, stdout=subprocess.PIPE
    )
    assert running.stdout is not None
    told = dict(running.stdout.readline().decode().strip().split("=", 1) for _ in range(3))
    assert told["OPENAI_BASE_URL"] == f"http://127.0.0.1:{port}/openai/v1"
    assert told["ANTHROPIC_BASE_URL"] == f"http://127.0.0.1:{port}/anthropic"
    url = urlsplit(told["OPENAI_BASE_URL"])
    client = http.client.HTTPConnection(url.netloc, timeout=STUCK)
    client.request("POST", f"{url.path}/chat/completions", CHAT.body([CHAT.task("go")]))
    assert client.getresponse().read() == b"{}"
    running.send_signal(signal.SIGINT)
    assert running.wait(STUCK) == 0
    running.stdout.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port))
    assert json.loads(pmem(project, "log", "--json").stdout)["observation"] == "go"


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("proxy", "--upstream", "models.example.org"), 2, "is no address of a service"),
        (("proxy", "--port", "0"), 2, "--port"),
        (("run", "--via", "telepathy", "true"), 2, "--via"),
    ],
)
def test_what_cannot_be_used_is_said(
    project: Path, args: tuple[str, ...], code: int, words: str
) -> None:
    done = pmem(project, *args)
    assert done.returncode == code
    assert words in done.stderr.decode() and done.stderr.count(b"\n") == 1


def test_a_port_that_is_taken_is_said(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = pmem(project, "proxy", "--port", str(port), "--", "true")
    assert done.returncode == 125
    assert f"port {port}" in done.stderr.decode() and "--port" in done.stderr.decode()


def without_aiohttp(tmp_path: Path) -> Mapping[str, str]:
    """An environment in which the package cannot be found."""
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *a: None if name == 'aiohttp' else find(name, *a)\n"
    )
    return {"PYTHONPATH": str(tmp_path)}


def test_without_the_extra_it_is_said_how_to_install_it(project: Path, tmp_path: Path) -> None:
    env = without_aiohttp(tmp_path)
    for words in (("proxy",), ("run", "--via", "proxy", "true"), ("proxy", "true")):
        done = pmem(project, *words, env=env)
        assert done.returncode == 125
        assert "needs the package aiohttp" in done.stderr.decode()
        assert f"install it: {sys.executable} -m pip install aiohttp\n" in done.stderr.decode()


def test_without_the_extra_aider_runs_as_it_is(project: Path, tmp_path: Path) -> None:
    program = tmp_path / "aider"
    program.write_text("#!/bin/sh\necho ${OPENAI_API_BASE:-unset}; exit 3\n")
    program.chmod(0o755)
    done = pmem(project, "run", str(program), env=without_aiohttp(tmp_path))
    assert (done.returncode, done.stdout) == (3, b"unset\n"), done.stderr


def test_an_agent_inside_a_session_tells_that_session(service: Service, project: Path) -> None:
    """As aider typed in `pmem shell`: a guest, by a proxy of its own."""
    program = project / "aider"
    program.write_text(f"#!{sys.executable}\n{PROGRAM}")
    program.chmod(0o755)
    talk = [CHAT.task("go"), *CHAT.acts(1, "make", "x")]
    env = {"OPENAI_BASE_URL": f"{service.url}/v1"}
    inner = (*PMEM, "run", str(program))
    done = pmem(project, "run", "--", *inner, data=CHAT.body(talk), env=env)
    assert done.returncode == 7, done.stderr
    assert len(service.requests) == 1
    steps = [json.loads(line) for line in pmem(project, "log", "--json").stdout.splitlines()]
    assert [(s["kind"], s["action"]) for s in steps] == [("user", ""), ("command", "make")]


# --- where each agent's knob is ----------------------------------------------------------------


def led(agent: str, home: Path, *args: str, **env: str) -> tuple[list[str], Mapping[str, str]]:
    """The command line and the environment of an agent whose doors are named `door:URL`."""
    run_dir = home / "run"
    run_dir.mkdir(exist_ok=True)
    made = through(
        agent, agent, args, {"HOME": str(home), **env}, home, run_dir, lambda url: f"door:{url}"
    )
    return list(made.argv), made.env


def test_claude_is_led_by_its_variable_unless_something_wins_over_it(home: Path) -> None:
    assert led("claude", home)[1] == {"ANTHROPIC_BASE_URL": "door:https://api.anthropic.com"}
    own = led("claude", home, ANTHROPIC_BASE_URL="http://mine")[1]
    assert own == {"ANTHROPIC_BASE_URL": "door:http://mine"}
    with pytest.raises(ValueError, match="CLAUDE_CODE_USE_VERTEX"):
        led("claude", home, CLAUDE_CODE_USE_VERTEX="1")
    (home / ".claude").mkdir()
    settings = {"env": {"ANTHROPIC_BASE_URL": "http://mine"}}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    with pytest.raises(ValueError, match=r"settings\.json sets ANTHROPIC_BASE_URL"):
        led("claude", home)


def test_codex_is_led_by_the_provider_it_has_chosen(home: Path) -> None:
    openai = "openai_base_url=" + json.dumps("door:https://api.openai.com/v1")
    assert led("codex", home, "exec")[0] == ["codex", "-c", openai, "exec"]
    (home / ".codex").mkdir()
    config = home / ".codex" / "config.toml"
    config.write_text('model_provider = "x"\n[model_providers.x]\nbase_url = "http://x/v1"\n')
    own = 'model_providers.x.base_url="door:http://x/v1"'
    assert led("codex", home)[0] == ["codex", "-c", own]
    config.write_text('model_provider = "y"\n')
    with pytest.raises(ValueError, match="no base_url for Codex's provider 'y'"):
        led("codex", home)
    config.unlink()
    (home / ".codex" / "auth.json").write_text('{"tokens": {"access_token": "t"}}')
    with pytest.raises(ValueError, match="subscription"):
        led("codex", home)


def test_opencode_keeps_the_user_s_configuration_and_turns_each_provider(home: Path) -> None:
    (home / "opencode.json").write_text(
        json.dumps({"provider": {"mine": {"options": {"baseURL": "http://mine/v1"}}}})
    )
    given = json.dumps({"model": "m", "provider": {"openai": {"options": {"timeout": 9}}}})
    _, env = led("opencode", home, OPENCODE_CONFIG_CONTENT=given)
    config = json.loads(env["OPENCODE_CONFIG_CONTENT"])
    assert config["model"] == "m"
    urls = {name: told["options"]["baseURL"] for name, told in config["provider"].items()}
    assert urls == {
        "anthropic": "door:https://api.anthropic.com/v1",
        "openai": "door:https://api.openai.com/v1",
        "mine": "door:http://mine/v1",
    }
    assert config["provider"]["openai"]["options"]["timeout"] == 9


def test_aider_s_own_option_and_variable_win_over_the_common_ones(home: Path) -> None:
    argv, env = led("aider", home, "--openai-api-base", "http://a/v1", OPENAI_API_BASE="http://b")
    assert argv == ["aider", "--openai-api-base", "door:http://a/v1"]
    assert env["OPENAI_API_BASE"] == env["OPENAI_BASE_URL"] == "door:http://b"
    assert led("aider", home, "--openai-api-base=http://a")[0][2] == "door:http://a"
    assert led("aider", home, AIDER_OPENAI_API_BASE="http://c")[1]["AIDER_OPENAI_API_BASE"] == (
        "door:http://c"
    )


def test_cline_s_key_travels_as_a_variable_and_stands_in_no_file(home: Path) -> None:
    place = home / ".cline" / "data" / "settings"
    place.mkdir(parents=True)
    own = {"provider": "openrouter", "apiKey": "sk-or-kept-nowhere", "model": "m"}
    whole = {"lastUsedProvider": "openrouter", "providers": {"openrouter": {"settings": own}}}
    (place / "providers.json").write_text(json.dumps(whole))
    _, env = led("cline", home)
    assert env["OPENROUTER_API_KEY"] == "sk-or-kept-nowhere"
    copy = Path(env["CLINE_PROVIDER_SETTINGS_PATH"])
    assert "sk-or" not in copy.read_text()
    settings = json.loads(copy.read_text())["providers"]["openrouter"]["settings"]
    assert settings["baseUrl"] == "door:https://openrouter.ai/api/v1"
    assert settings["model"] == "m"
    with pytest.raises(ValueError, match="provider 'vertex' has no base URL"):
        led("cline", home, "-P", "vertex")


@pytest.mark.parametrize("agent", ["copilot", "pi"])
def test_who_cannot_be_led_says_why(agent: str, home: Path) -> None:
    with pytest.raises(ValueError, match="without --via proxy pmem reaches it"):
        led(agent, home)
