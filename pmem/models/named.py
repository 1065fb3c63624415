"""A model by the name a setting gives it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pmem.models.protocol import ChatModel

FORMS = "anthropic:NAME, openai:NAME, command:PATH [ARGS], scripted:FILE"


def model_named(name: str, env: Mapping[str, str], base_url: str = "") -> ChatModel:
    """The model of a name. Nothing is imported or reached before its first question.

    `env` is where keys are looked for, and what a command gets. Raises ValueError with a
    sentence that names the forms there are.
    """
    provider, _, rest = name.partition(":")
    if not rest.strip():
        raise ValueError(f"there is no model {name!r}; a model is named {FORMS}")
    match provider:
        case "anthropic":
            from pmem.models.anthropic import Anthropic

            return Anthropic(rest, env, base_url)
        case "openai":
            from pmem.models.openai import OpenAI

            return OpenAI(rest, env, base_url)
        case "command":
            from pmem.models.command import CommandModel

            return CommandModel(rest, env)
        case "scripted":
            from pmem.models.scripted import load_replies

            return load_replies(Path(rest).expanduser())
    raise ValueError(f"there is no provider {provider!r}; a model is named {FORMS}")
