"""Commands the user named in the setting `private`: they are counted and never recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pmem.core.glob import compile_glob
from pmem.core.signature import normal_form, parse
from pmem.core.step import PRIVATE, Step


def private_commands(globs: Sequence[str]) -> Callable[[str], bool]:
    """Whether a command line is private: the whole of it, or any command in it, fits a glob.

    Raises ValueError naming a glob that cannot be used.
    """
    compiled = []
    for glob in globs:
        try:
            compiled.append(compile_glob(glob))
        except ValueError as error:
            raise ValueError(f'private: "{glob}" {error}') from None

    def is_private(line: str) -> bool:
        if not compiled:
            return False
        forms = [normal_form(line)]
        for command in parse(line):
            forms += [command.text, " ".join(command.words)]
        return any(glob.matches(form) for glob in compiled for form in forms)

    return is_private


def withheld(step: Step) -> Step:
    """The step without a word of what was run or printed."""
    return replace(step, action=PRIVATE, observation="", exit_code=None, thought="")
