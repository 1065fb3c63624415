"""Each agent CLI in a HOME of its own: its pinned version, installed, and what it needs to talk
to a scripted model server in a project that fails to build.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from real_agents import CACHE, MAKEFILE, Bench, Model, npm_installed, venv_installed

#: Makes a bench: the model server it talks to, and a name where there are several.
MakeBench = Callable[..., Bench]

NODE_VERSION = "24.21.0"
PACKAGES = {
    "claude": ("@anthropic-ai/claude-code", "2.1.332"),
    "codex": ("@openai/codex", "0.171.0"),
    "gemini": ("@google/gemini-cli", "0.61.0"),
    "qwen": ("@qwen-code/qwen-code", "0.24.4"),
    "opencode": ("opencode-ai", "1.18.33"),
    "copilot": ("@github/copilot", "1.0.102"),
    "pi": ("@earendil-works/pi-coding-agent", "1.6.0"),
    "mini": ("mini-swe-agent", "2.4.6"),
}
KEY = "sk-ant-api03-dummy-dummy-dummy-dummy-dummy-0000"


def program_of(agent: str) -> Path:
    """The pinned program of an agent; skips where it cannot be installed."""
    package, version = PACKAGES[agent]
    if agent == "mini":
        return venv_installed(package, version, agent)
    return npm_installed(package, version, agent)


def node_directory() -> Path:
    """Where a node stands that is new enough for every agent; skips where there is none."""
    return npm_installed("node", NODE_VERSION, "node").parent


def bench_of(place: Path, program: Path, env: Mapping[str, str], *path: Path) -> Bench:
    """A HOME and a project that fails to build, below `place`, for one agent."""
    home, project = place / "home", place / "project"
    home.mkdir(parents=True)
    project.mkdir()
    (project / "Makefile").write_text(MAKEFILE)
    own = {
        "HOME": str(home),
        "PATH": ":".join([*map(str, path), "/usr/local/bin", "/usr/bin", "/bin"]),
        "SHELL": "/bin/bash",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PMEM_PATIENCE": "10",  # plug-ins on a busy machine
    }
    return Bench(home, project, program, {**own, **env})


def maker(agent: str, outside: Path) -> MakeBench:
    """What makes benches of an agent below a directory."""
    program = program_of(agent)
    node = [node_directory()] if agent in ("qwen", "pi") else []

    def bench(model: Model, name: str = "a") -> Bench:
        made = bench_of(outside / name, program, {}, program.parent, *node)
        made.env.update(PREPARED[agent](made, model.url))
        return made

    return bench


def _claude(bench: Bench, url: str) -> Mapping[str, str]:
    known = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(bench.project): {"hasTrustDialogAccepted": True}},
    }
    (bench.home / ".claude.json").write_text(json.dumps(known))
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _codex(bench: Bench, url: str) -> Mapping[str, str]:
    (bench.home / ".codex").mkdir()
    config = f"""\
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[features]
plugins = false
[projects."{bench.project}"]
trust_level = "trusted"
"""
    (bench.home / ".codex" / "config.toml").write_text(config)
    return {"SCRIPTED_KEY": "none"}


def _gemini(bench: Bench, url: str) -> Mapping[str, str]:
    (bench.home / ".gemini").mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "ui": {"theme": "Default", "hideTips": True},
    }
    (bench.home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    trusted = {str(bench.project): "TRUST_FOLDER"}
    (bench.home / ".gemini" / "trustedFolders.json").write_text(json.dumps(trusted))
    return {"COLORTERM": "truecolor", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none"}


def _qwen(bench: Bench, url: str) -> Mapping[str, str]:
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "none",
        "OPENAI_MODEL": "scripted",
        "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
    }


def _opencode(bench: Bench, url: str) -> Mapping[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "scripted"}},
    }
    config = {
        "model": "scripted/scripted",
        "provider": {"scripted": provider},
        "permission": "allow",
        "autoupdate": False,
    }
    directory = bench.home / ".config" / "opencode"
    directory.mkdir(parents=True)
    package, version = "@opencode-ai/plugin", PACKAGES["opencode"][1]
    # What opencode installs into each user's configuration before it starts, installed once.
    npm_installed(package, version, "", place=(kept := CACHE / f"opencode-config-{version}"))
    for entry in kept.iterdir():
        (directory / entry.name).symlink_to(entry)
    (directory / "opencode.json").write_text(json.dumps(config))
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _copilot(bench: Bench, url: str) -> Mapping[str, str]:
    known = [str(bench.project)]
    (bench.home / ".copilot").mkdir()
    config = {"trusted_folders": known, "trustedFolders": known}
    (bench.home / ".copilot" / "config.json").write_text(json.dumps(config))
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "scripted",
    }


def _pi(bench: Bench, url: str) -> Mapping[str, str]:
    directory = bench.home / ".pi" / "agent"
    directory.mkdir(parents=True)
    provider = {
        "baseUrl": f"{url}/v1",
        "apiKey": "none",
        "api": "openai-completions",
        "models": [{"id": "scripted"}],
    }
    (directory / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
    settings = {"defaultProvider": "scripted", "defaultModel": "scripted"}
    (directory / "settings.json").write_text(json.dumps(settings))
    return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}


def _mini(bench: Bench, url: str) -> Mapping[str, str]:
    return {
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": "none",
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "PMEM_ARM": "rules",  # the key is no offer of a model for memory
    }


#: What prepares a bench for each agent, and says what its environment needs.
PREPARED: Mapping[str, Callable[[Bench, str], Mapping[str, str]]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _qwen,
    "opencode": _opencode,
    "copilot": _copilot,
    "pi": _pi,
    "mini": _mini,
}
