"""Which actions cannot be taken back or are seen by others: only these may a watch put back."""

from __future__ import annotations

from functools import cache

from pmem.core.data import table
from pmem.core.effect import Effect, command_effect
from pmem.core.glob import Glob, compile_glob
from pmem.core.signature import parse
from pmem.core.step import Action
from pmem.core.targets import writes
from pmem.core.tidy import is_log


def costly(action: Action) -> bool:
    """Whether an action is an edit, or removes, commits, pushes, publishes, deploys and the like.

    A command counts by each of its parts, a tool by the words of its name.
    """
    if action.kind == "edit":
        return True
    if action.kind == "tool":
        name = (action.tool or action.text.partition(" ")[0]).lower()
        return not _acting().isdisjoint(name.replace("-", "_").split("_"))
    if action.kind != "command":
        return False
    if any(not is_log(path) for path in writes(action.text)):
        return True
    for command in parse(action.text):
        forms = (command.text, " ".join(command.words))
        if command_effect(command) is not Effect.READS and any(
            glob.matches(form) for glob in _globs() for form in forms
        ):
            return True
    return False


@cache
def _globs() -> tuple[Glob, ...]:
    return tuple(map(compile_glob, table("watch")["costly"]))


@cache
def _acting() -> frozenset[str]:
    return frozenset(table("watch")["acting"].split())
