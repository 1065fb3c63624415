"""The settings there are: one line each, with kind, default, what is allowed, and what for.

The table is what `pmem config` shows and what every source of a setting is checked against.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

Value = str | int | float | bool | tuple[str, ...]

ON = frozenset({"1", "true", "yes", "on"})
OFF = frozenset({"0", "false", "no", "off", ""})

#: A model is named by who serves it.
MODEL = re.compile(r"(anthropic|openai|command|scripted):\S.*", re.DOTALL)


class SettingsError(ValueError):
    """A setting that cannot be taken; the message names where it stands and what is allowed."""


class Knob(NamedTuple):
    """One setting.

    `allowed` lists the only values of a string, `least` is the smallest number. `runs` marks
    those that a project's pmem.toml may set only if it is trusted: that name a program or an
    endpoint, spend, let a model hold, keep more or remove what was kept, or can keep pmem busy
    without end. `accepts` looks at a string, or at each one of a list.
    """

    name: str
    default: Value
    about: str
    allowed: tuple[str, ...] = ()
    least: float = 0
    runs: bool = False
    accepts: Callable[[str], bool] | None = None
    form: str = ""

    def check(self, value: Any) -> Value:
        """The value in its own type, from TOML or a flag. Raises ValueError: what it must be."""
        if isinstance(self.default, bool):
            if isinstance(value, bool):
                return value
        elif isinstance(self.default, tuple):
            items = [value] if isinstance(value, str) else value
            if isinstance(items, (list, tuple)) and all(
                isinstance(i, str) and (self.accepts is None or self.accepts(i)) for i in items
            ):
                return tuple(items)
        elif isinstance(self.default, str):
            if isinstance(value, str) and self._takes(value):
                return value
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            whole = isinstance(self.default, int)
            if self.least <= value < math.inf and (not whole or value == int(value)):
                return int(value) if whole else float(value)
        raise ValueError(f"must be {self.must_be}")

    def read(self, text: str) -> Value:
        """The value in an environment variable or on the command line. Raises ValueError."""
        if isinstance(self.default, bool):
            if text.lower() in ON | OFF:
                return text.lower() in ON
        elif isinstance(self.default, tuple):
            return self.check([part.strip() for part in text.split(",") if part.strip()])
        elif isinstance(self.default, str):
            return self.check(text)
        else:
            try:
                return self.check(float(text))
            except (ValueError, OverflowError):
                pass
        raise ValueError(f"must be {self.must_be}")

    @property
    def must_be(self) -> str:
        """What the value must be, in words."""
        if self.form:
            return self.form
        if self.allowed:
            *most, last = (f'"{word}"' for word in self.allowed)
            return f"{', '.join(most)} or {last}"
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, tuple):
            return 'a list of strings, as in ["op *"]'
        if isinstance(self.default, str):
            return "a string"
        what = "a whole number" if isinstance(self.default, int) else "a number"
        return f"{what}, {self.least:g} or more"

    def _takes(self, value: str) -> bool:
        if "\0" in value or "\n" in value:
            return False
        if self.allowed:
            return value in self.allowed
        return not value or self.accepts is None or self.accepts(value)


def _is_glob(text: str) -> bool:
    from pmem.core.glob import compile_glob

    try:
        compile_glob(text)
    except ValueError:
        return False
    return True


def _is_expression(text: str) -> bool:
    from pmem.core.redact import redactor

    try:
        redactor([text])
    except ValueError:
        return False
    return True


ARMS = ("off", "rules", "selective", "bank", "always", "advisor")

KNOBS: dict[str, Knob] = {
    knob.name: knob
    for knob in (
        Knob("arm", "rules", "how memory runs; selective once there is a model", allowed=ARMS),
        Knob(
            "model",
            "",
            "the model behind the memory agent; empty: none is called",
            runs=True,
            accepts=lambda text: MODEL.fullmatch(text) is not None,
            form="anthropic:NAME, openai:NAME, command:PATH [ARGS] or scripted:FILE",
        ),
        Knob(
            "base_url",
            "",
            "where the model's provider is reached, if not as usual",
            runs=True,
            accepts=lambda text: re.match(r"https?://[^\s/]", text) is not None,
            form="an address, as in http://localhost:11434/v1",
        ),
        Knob("interval", 5, "the memory agent looks every N steps", least=1),
        Knob("window", 8, "and sees the last K of them", least=1),
        Knob(
            "hold",
            "sure",
            "what may put a proposed action back, once",
            allowed=("sure", "watch", "never"),
            runs=True,
        ),
        Knob("mode", "async", "sync: the agent waits for a model", allowed=("async", "sync")),
        Knob("timeout", 60.0, "how long it waits in sync mode, in seconds", least=0.1, runs=True),
        Knob(
            "deliver",
            "both",
            "who hears a reminder; agent: no banner; human: only a banner; none: only logged",
            allowed=("both", "agent", "human", "none"),
        ),
        Knob("pure", False, "the paper's own memory agent: every step, two calls, no watches"),
        Knob(
            "session_tokens", 2_000_000, "tokens a session's model may take; 0: no limit", runs=True
        ),
        Knob("session_money", 2.0, "US dollars a session's model may take; 0: no limit", runs=True),
        Knob("day_tokens", 10_000_000, "tokens of all sessions in a day; 0: no limit", runs=True),
        Knob("day_money", 10.0, "US dollars of all sessions in a day; 0: no limit", runs=True),
        Knob(
            "pane",
            "auto",
            "in tmux, reminders in a small pane; auto: those of an agent that shows none",
            allowed=("auto", "always", "never"),
        ),
        Knob(
            "notify",
            "auto",
            "outside tmux, by OSC 9 or 777; auto: where the terminal is known to take one",
            allowed=("auto", "9", "777", "never"),
        ),
        Knob("quiet", False, "no line at the start and at the end"),
        Knob("record", False, "keep a recording of the terminal (terminal.cast)", runs=True),
        Knob("without", (), "rules of the memory agent that are switched off, by name"),
        Knob(
            "scope",
            "project",
            "whose the bank is; session: each session begins its own",
            allowed=("project", "session"),
        ),
        Knob(
            "private",
            (),
            "globs of commands that are never recorded",
            accepts=_is_glob,
            form='a list of globs, as in ["op *"]',
        ),
        Knob(
            "secrets",
            (),
            "regular expressions of what is taken out besides known secrets",
            runs=True,
            accepts=_is_expression,
            form='a list of regular expressions, as in ["EMP-[0-9]{6}"]',
        ),
        Knob(
            "patience", 0.0, "how long a shell waits for a banner, in seconds; 0: unfelt", least=0
        ),
        Knob("max_entries", 500, "entries in the bank; the rest goes to archive.jsonl", least=10),
        Knob(
            "archive_mb", 20, "size of archive.jsonl, the newest are kept; 0: no limit", runs=True
        ),
        Knob("keep_days", 90, "session logs are removed after so many days; 0: never", runs=True),
        Knob("keep_mb", 500, "and the oldest when a project's are larger; 0: never", runs=True),
        Knob("shell", "", "the shell of `pmem shell`, by name or path; else $SHELL", runs=True),
        Knob(
            "agent",
            "",
            "the agent that plain `pmem` starts",
            accepts=lambda text: re.fullmatch(r"[a-z][a-z0-9-]*", text) is not None,
            form="an agent's name, as in claude",
        ),
        Knob("gate", "", "a file of pmem train gate: learned from your sessions when to be quiet"),
        Knob("off", False, "switch everything off; also PMEM=off"),
    )
}
