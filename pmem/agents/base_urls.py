"""The knob of each agent by which it reaches its model, turned to an address on this machine.

A `door` makes an address here from the one a service has. What an agent had is looked up where
the agent itself would, so that its requests go on to the very same service.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pmem.agents.json_object import object_of
from pmem.agents.protocol import Launch

Door = Callable[[str], str]

ANTHROPIC = "https://api.anthropic.com"
OPENAI = "https://api.openai.com/v1"
GEMINI = "https://generativelanguage.googleapis.com"
#: Variables that programs read, and where they lead if they are not set.
VARIABLES = {
    "ANTHROPIC_BASE_URL": ANTHROPIC,
    "ANTHROPIC_API_BASE": ANTHROPIC,
    "OPENAI_BASE_URL": OPENAI,
    "OPENAI_API_BASE": OPENAI,
    "GOOGLE_GEMINI_BASE_URL": GEMINI,
}
#: Two names of one thing: who sets one of them means both.
_TWINS = {
    "ANTHROPIC_API_BASE": "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BASE_URL": "ANTHROPIC_API_BASE",
    "OPENAI_API_BASE": "OPENAI_BASE_URL",
    "OPENAI_BASE_URL": "OPENAI_API_BASE",
}


#: With one of these set Claude Code asks a cloud's service.
_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


def through(
    agent: str,
    program: str,
    args: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    run_dir: Path,
    door: Door,
) -> Launch:
    """An agent with its model's traffic through a door; for an unknown program the usual knobs.

    `run_dir` is a private directory of this session. Raises ValueError with a sentence where it
    cannot be led there.
    """
    known = {
        "claude": _claude,
        "codex": _codex,
        "opencode": _opencode,
        "copilot": _copilot,
        "aider": _aider,
    }
    if agent == "cline":
        from pmem.agents.cline_settings import led

        return led(program, args, env, run_dir, door)
    if agent == "pi":
        raise ValueError(
            "pi has no base URL that could be turned for one session; "
            "without --via proxy pmem reaches it by its extension"
        )
    if agent in known:
        return known[agent](program, args, env, cwd, door)
    return Launch([program, *args], variables(env, door))


def variables(env: Mapping[str, str], door: Door) -> dict[str, str]:
    """The variables that most programs read, each leading where it led, by a door."""
    found = {}
    for name, usual in VARIABLES.items():
        found[name] = door(env.get(name) or env.get(_TWINS.get(name, "")) or usual)
    return found


def _claude(
    program: str, args: Sequence[str], env: Mapping[str, str], cwd: Path, door: Door
) -> Launch:
    """One variable, unless what wins over it says otherwise."""
    own = Path(env.get("CLAUDE_CONFIG_DIR") or Path(env.get("HOME", "~")) / ".claude")
    files = [own / "settings.json"]
    files += [cwd / ".claude" / name for name in ("settings.json", "settings.local.json")]
    set_there = {**env}
    for file in files:
        told = object_of(file).get("env")
        told = told if isinstance(told, dict) else {}
        set_there |= {name: str(value) for name, value in told.items()}
        if told.get("ANTHROPIC_BASE_URL"):
            raise ValueError(
                f"{file} sets ANTHROPIC_BASE_URL, which wins over the proxy's; "
                "without --via proxy pmem reaches Claude Code by its hooks"
            )
    elsewhere = next((name for name in _CLOUDS if set_there.get(name)), None)
    if elsewhere is not None:
        raise ValueError(
            f"with {elsewhere} Claude Code asks a service that no base URL leads elsewhere; "
            "without --via proxy pmem reaches it by its hooks"
        )
    name = "ANTHROPIC_BASE_URL"
    return Launch([program, *args], {name: door(env.get(name) or ANTHROPIC)})


def _aider(
    program: str, args: Sequence[str], env: Mapping[str, str], cwd: Path, door: Door
) -> Launch:
    """litellm's variables; `--openai-api-base` and aider's own variable win over them."""
    given = env.get("AIDER_OPENAI_API_BASE", "")
    led: list[str] = []
    words = iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        if name == "--openai-api-base":
            led += [name, door(value if equals else next(words, OPENAI))]
        else:
            led.append(word)
    more = {"AIDER_OPENAI_API_BASE": door(given)} if given else {}
    return Launch([program, *led], {**variables(env, door), **more})


def _codex(
    program: str, args: Sequence[str], env: Mapping[str, str], cwd: Path, door: Door
) -> Launch:
    """The provider that config.toml chooses, turned on the command line."""
    home = Path(env.get("CODEX_HOME") or Path(env.get("HOME", "~")) / ".codex")
    config = _toml(home / "config.toml")
    chosen = str(config.get("model_provider") or "openai")
    for word, value in pairwise(args):
        if word in ("-c", "--config") and value.startswith("model_provider="):
            chosen = value.partition("=")[2].strip("\"'")
    providers = config.get("model_providers")
    provider = providers.get(chosen) if isinstance(providers, dict) else None
    if isinstance(provider, dict) and provider.get("base_url"):
        key = f"model_providers.{chosen}.base_url"
        base = str(provider["base_url"])
    elif chosen != "openai":
        raise ValueError(
            f"config.toml has no base_url for Codex's provider '{chosen}'; give it one"
        )
    else:
        login = object_of(home / "auth.json")
        if login.get("tokens") and not (env.get("OPENAI_API_KEY") or login.get("OPENAI_API_KEY")):
            raise ValueError(
                "Codex is signed in with a subscription, which no base URL leads elsewhere; "
                "without --via proxy pmem reaches it by its hooks"
            )
        key, base = "openai_base_url", str(config.get("openai_base_url") or OPENAI)
    return Launch([program, "-c", f"{key}={json.dumps(door(base))}", *args])


def _opencode(
    program: str, args: Sequence[str], env: Mapping[str, str], cwd: Path, door: Door
) -> Launch:
    """Every provider that a configuration gives a baseURL, and the two usual ones."""
    name = "OPENCODE_CONFIG_CONTENT"
    own = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME", "~")) / ".config") / "opencode"
    places = [own / "opencode.json", Path(env.get("OPENCODE_CONFIG", os.devnull))]
    places += [place / "opencode.json" for place in (*reversed(cwd.parents), cwd)]
    content = json.loads(env.get(name) or "{}")
    if not isinstance(content, dict):
        raise ValueError(f"your {name} is no JSON object; correct it")
    led = {"anthropic": f"{ANTHROPIC}/v1", "openai": OPENAI}
    for config in [*map(object_of, places), content]:
        providers = config.get("provider")
        for id, provider in providers.items() if isinstance(providers, dict) else ():
            options = provider.get("options") if isinstance(provider, dict) else None
            if isinstance(options, dict) and isinstance(options.get("baseURL"), str):
                led[id] = options["baseURL"]
    providers = dict(content.get("provider") or {})
    for id, base in led.items():
        provider = dict(providers.get(id) or {})
        options = {**(provider.get("options") or {}), "baseURL": door(base)}
        providers[id] = {**provider, "options": options}
    return Launch(
        [program, *args],
        {name: json.dumps({**content, "provider": providers}, ensure_ascii=False)},
    )


def _copilot(
    program: str, args: Sequence[str], env: Mapping[str, str], cwd: Path, door: Door
) -> Launch:
    """A provider of the user's own; GitHub's service has no base URL to turn."""
    name = "COPILOT_PROVIDER_BASE_URL"
    if not env.get(name):
        raise ValueError(
            f"Copilot CLI asks GitHub's own service, which {name} does not lead elsewhere; "
            "without --via proxy pmem reaches it by its hooks"
        )
    return Launch([program, *args], {name: door(env[name])})


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
