"""Cline's providers for one session: the same ones, each reached by a door, and without keys.

Cline reads its providers from a file (`CLINE_PROVIDER_SETTINGS_PATH`), keys and addresses
together. The session's copy holds the addresses; a key travels as the environment variable that
Cline reads where its file has none. What Cline writes there while it runs is gone with the session.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pmem.agents.json_object import object_of
from pmem.agents.protocol import Launch

VARIABLE = "CLINE_PROVIDER_SETTINGS_PATH"
#: Cline's providers with a key: its variable, and where the provider is reached (3.0.65).
PROVIDERS = {
    "anthropic": ("ANTHROPIC_API_KEY", "https://api.anthropic.com/v1"),
    "openai-compatible": ("OPENAI_API_KEY", "https://api.openai.com/v1"),
    "openai-native": ("OPENAI_API_KEY", "https://api.openai.com/v1"),
    "gemini": ("GEMINI_API_KEY", "https://generativelanguage.googleapis.com/v1beta"),
    "openrouter": ("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
    "deepseek": ("DEEPSEEK_API_KEY", "https://api.deepseek.com/v1"),
    "groq": ("GROQ_API_KEY", "https://api.groq.com/openai/v1"),
    "xai": ("XAI_API_KEY", "https://api.x.ai/v1"),
    "litellm": ("LITELLM_API_KEY", "http://localhost:4000/v1"),
    "lmstudio": ("LMSTUDIO_API_KEY", "http://localhost:1234/v1"),
    "ollama": ("OLLAMA_API_KEY", "https://ollama.com/v1"),
}
#: Words by which a person names one of them on the command line.
_ALIASES = {"openai": "openai-compatible"}
#: What is taken over of a provider's settings; a key or a login is never among it.
_KEPT = ("provider", "model", "reasoning", "maxTokens", "contextWindow", "capabilities", "timeout")


def led(
    program: str,
    args: Sequence[str],
    env: Mapping[str, str],
    run_dir: Path,
    door: Callable[[str], str],
) -> Launch:
    """The command line, with a settings file of this session in the environment.

    Raises ValueError with a sentence where the chosen provider has no address to turn.
    """
    settings = object_of(_place(args, env))
    chosen = _chosen(args, settings)
    if chosen not in PROVIDERS:
        raise ValueError(
            f"Cline's provider '{chosen}' has no base URL that could lead through the proxy; "
            "choose one with a key of yours: cline auth"
        )
    variable, usual = PROVIDERS[chosen]
    entries = settings.get("providers")
    entry = entries.get(chosen) if isinstance(entries, dict) else None
    own = entry.get("settings") if isinstance(entry, dict) else None
    own = own if isinstance(own, dict) else {}
    if own.get("headers"):
        raise ValueError(
            f"Cline's provider '{chosen}' has headers of its own, which may hold a key and are "
            "copied nowhere; run cline without pmem, or take them out"
        )
    kept = {name: own[name] for name in _KEPT if name in own}
    kept |= {"provider": chosen, "baseUrl": door(str(own.get("baseUrl") or usual))}
    copy = {
        "version": settings.get("version", 1),
        "lastUsedProvider": chosen,
        "modes": {},
        "providers": {chosen: {"settings": kept, "tokenSource": "manual"}},
    }
    if isinstance(entry, dict) and entry.get("updatedAt"):
        copy["providers"][chosen]["updatedAt"] = entry["updatedAt"]
    place = run_dir / "cline-providers.json"
    place.write_text(json.dumps(copy), "utf-8")
    place.chmod(0o600)
    key = own.get("apiKey")
    more = {variable: key} if isinstance(key, str) and key else {}
    return Launch([program, *args], {VARIABLE: str(place), **more})


def _place(args: Sequence[str], env: Mapping[str, str]) -> Path:
    if env.get(VARIABLE):
        return Path(env[VARIABLE])
    home = Path(env.get("CLINE_DIR") or Path(env.get("HOME", "~")) / ".cline")
    data = Path(env["CLINE_DATA_DIR"]) if env.get("CLINE_DATA_DIR") else home / "data"
    for word, value in pairwise(args):
        if word == "--config":
            data = Path(value) / "data"
        elif word == "--data-dir":
            data = Path(value)
    return data / "settings" / "providers.json"


def _chosen(args: Sequence[str], settings: Mapping[str, Any]) -> str:
    chosen = str(settings.get("lastUsedProvider") or "cline")
    for word, value in pairwise(args):
        if word in ("-P", "--provider"):
            chosen = value
    return _ALIASES.get(chosen, chosen)
