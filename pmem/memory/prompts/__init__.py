"""The texts that a model is asked with; a file of the same name elsewhere replaces one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

NAMES = (
    *("system", "manage", "decide", "compaction", "tools"),
    *("always", "advisor", "pure_manage", "pure_decide"),
)


def load_prompts(own: Path | None = None) -> Mapping[str, str]:
    """The prompts by name; those of which `own` holds NAME.md are taken from there.

    Raises ValueError naming the file if one cannot be read.
    """
    prompts = {}
    for name in NAMES:
        path = Path(__file__).with_name(f"{name}.md")
        if own is not None and (own / path.name).is_file():
            path = own / path.name
        try:
            prompts[name] = path.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"the prompt {path} cannot be read: {error}") from None
    return prompts
