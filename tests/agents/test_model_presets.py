"""`command:claude-code` and `command:codex`: the real programs as the model of memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from real_agents import FAKELLM, Bench, Model

from pmem.models.command import CommandModel
from pmem.models.protocol import Message, Request

pytestmark = pytest.mark.slow

QUESTION = Request(
    "You are a memory.", (Message("user", "기억할 것?"),), phase="decide", timeout=80
)


@pytest.fixture
def speaking(tmp_path: Path) -> Iterator[Model]:
    """A model server that answers in words, whatever tools it is offered."""
    if not FAKELLM.exists():
        pytest.skip("../shared/tools/fakellm.py is not beside this checkout")
    import sys

    sys.path.insert(0, str(FAKELLM.parent))
    import fakellm

    log = tmp_path / "requests.jsonl"
    script = [{"text": "<no_intervention/>"}]
    server, port = fakellm.serve(0, script, str(log), text_mode=True)
    yield Model(f"http://127.0.0.1:{port}", log)
    server.shutdown()
    server.server_close()


def test_claude_code_answers_without_tools_and_hooks(
    claude: Callable[..., Bench], speaking: Model
) -> None:
    bench = claude(speaking)
    told = bench.home / "hooked"
    hook = {"hooks": [{"type": "command", "command": f"touch {told}"}]}
    settings = {"hooks": {"UserPromptSubmit": [hook], "Stop": [hook], "SessionStart": [hook]}}
    (bench.home / ".claude").mkdir(exist_ok=True)
    (bench.home / ".claude" / "settings.json").write_text(json.dumps(settings))
    reply = CommandModel("claude-code", bench.env).ask(QUESTION)
    assert reply.text.startswith("<no_intervention/>")
    assert reply.usage.output == 10 and reply.usage.money is not None
    assert "기억할 것?" in speaking.bodies()[0]
    assert not speaking.requests()[0]["body"].get("tools")
    assert not told.exists()


def test_codex_answers_without_the_user_s_settings(
    codex: Callable[..., Bench], speaking: Model
) -> None:
    bench = codex(speaking)
    provider = (
        "model_provider=scripted",
        "model_providers.scripted.name=scripted",
        f"model_providers.scripted.base_url={speaking.url}/v1",
        "model_providers.scripted.env_key=SCRIPTED_KEY",
        "model_providers.scripted.wire_api=responses",
    )
    given = " ".join(f"-c {option}" for option in provider)
    reply = CommandModel(f"codex {given}", bench.env).ask(QUESTION)
    assert "<no_intervention/>" in reply.text
    assert "기억할 것?" in speaking.bodies()[0]
