"""Trial: how each agent is put in front of the played model, in a home of its own.

Nothing of the user's is read or written: settings, keys and transcripts are those of the trial.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: A key that opens nothing.
KEY = "sk-ant-api03-pmem-doctor-pmem-doctor-pmem-doctor-0000"
TASK = "Run the build."


@dataclass(frozen=True, slots=True)
class Setting:
    """What an agent is started with: its arguments and what the environment adds."""

    args: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trial:
    """How to try one agent.

    `tested` are the versions pmem is tested with, `prepare` writes what the agent needs into its
    home and takes home, project and the model's address. `last` is the command that ends its work,
    "" where words do.
    """

    tested: Sequence[str]
    prepare: Callable[[Path, Path, str], Setting]
    last: str = ""


def _claude(home: Path, project: Path, url: str) -> Setting:
    known = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(known), "utf-8")
    return Setting(
        ("-p", TASK, "--allowedTools", "Bash"),
        {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    )


def _codex(home: Path, project: Path, url: str) -> Setting:
    place = home / ".codex"
    place.mkdir(exist_ok=True)
    (place / "config.toml").write_text(
        f"""\
model = "gpt-5.1"
model_provider = "play"
[model_providers.play]
name = "play"
base_url = "{url}/v1"
env_key = "PLAY_KEY"
wire_api = "responses"
[features]
plugins = false
[projects.{json.dumps(str(project))}]
trust_level = "trusted"
""",
        "utf-8",
    )
    bypass = "--dangerously-bypass-approvals-and-sandbox"  # of the trial's own commands
    return Setting(("exec", "--skip-git-repo-check", bypass, TASK), {"PLAY_KEY": "none"})


def _gemini(home: Path, project: Path, url: str) -> Setting:
    place = home / ".gemini"
    place.mkdir(exist_ok=True)
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (place / "settings.json").write_text(json.dumps(settings), "utf-8")
    trusted = {str(project): "TRUST_FOLDER"}
    (place / "trustedFolders.json").write_text(json.dumps(trusted), "utf-8")
    return Setting(
        ("-m", "gemini-2.5-pro", "--yolo", "-p", TASK),
        {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none"},
    )


def _qwen(home: Path, project: Path, url: str) -> Setting:
    return Setting(
        ("--auth-type", "openai", "--approval-mode", "yolo", "-p", TASK),
        {
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "play",
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
        },
    )


def _copilot(home: Path, project: Path, url: str) -> Setting:
    place = home / ".copilot"
    place.mkdir(exist_ok=True)
    known = [str(project)]
    config = {"trusted_folders": known, "trustedFolders": known}
    (place / "config.json").write_text(json.dumps(config), "utf-8")
    return Setting(
        ("--allow-all-tools", "-s", "-p", TASK),
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "play",
        },
    )


def _pi(home: Path, project: Path, url: str) -> Setting:
    place = home / ".pi" / "agent"
    place.mkdir(parents=True, exist_ok=True)
    provider = {
        "baseUrl": f"{url}/v1",
        "apiKey": "none",
        "api": "openai-completions",
        "models": [{"id": "play"}],
    }
    (place / "models.json").write_text(json.dumps({"providers": {"play": provider}}), "utf-8")
    chosen = {"defaultProvider": "play", "defaultModel": "play"}
    (place / "settings.json").write_text(json.dumps(chosen), "utf-8")
    env = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
    return Setting(("-p", TASK), env)


def _opencode(home: Path, project: Path, url: str) -> Setting:
    place = home / ".config" / "opencode"
    place.mkdir(parents=True, exist_ok=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"play": {"name": "play"}},
    }
    config = {
        **{"model": "play/play", "provider": {"play": provider}, "permission": "allow"},
        **{"autoupdate": False, "share": "disabled"},
    }
    (place / "opencode.json").write_text(json.dumps(config), "utf-8")
    env = {
        **{"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
        # It fetches a package for each new home, and works without: no network is asked here.
        **{"npm_config_registry": "http://127.0.0.1:9/", "npm_config_fetch_retries": "0"},
    }
    return Setting(("run", TASK), env)


def _mini(home: Path, project: Path, url: str) -> Setting:
    env = {
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": "none",
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    return Setting(("-m", "openai/play", "-y", "-t", TASK, "--exit-immediately"), env)


#: The agents that can be tried, by their adapters' names.
TRIALS = {
    "claude": Trial(("2.1.332",), _claude),
    "codex": Trial(("0.171.0",), _codex),
    "gemini": Trial(("0.61.0",), _gemini),
    "qwen": Trial(("0.24.4",), _qwen),
    "opencode": Trial(("1.18.33",), _opencode),
    "copilot": Trial(("1.0.102",), _copilot),
    "pi": Trial(("1.6.0",), _pi),
    "mini-swe-agent": Trial(
        ("2.4.6",), _mini, last="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo Done."
    ),
}
