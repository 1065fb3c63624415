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
    home and takes home, project and the model's address.
    """

    tested: Sequence[str]
    prepare: Callable[[Path, Path, str], Setting]


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


#: The agents that can be tried, by their adapters' names.
TRIALS = {
    "claude": Trial(("2.1.332",), _claude),
    "codex": Trial(("0.171.0",), _codex),
    "gemini": Trial(("0.61.0",), _gemini),
}
