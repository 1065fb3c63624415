"""When: the language of watches, as `when` stands with an entry in bank.toml.

    when = { command = "git commit*", unless_ran = "*lint*", since = "edit" }

`command`, `writes` and `path` look at an action about to run, `output` at what one printed,
`finish` at the end of the turn; with several of them all must hold. `not`, `cwd`, `unless_ran`
with `since`, and `failed_before` narrow it; `times` and `until_step` say how long it lives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pmem.core.glob import Glob, compile_glob

#: Every key of the language with an example, in the order in which they are told.
KEYS = {
    "command": 'command = "git push*--force*"',
    "writes": 'writes = "src/generated/*"',
    "path": 'path = "*.env"',
    "output": 'output = "*TIMED OUT*"',
    "finish": "finish = true",
    "not": 'not = "*--dry-run*"',
    "cwd": 'cwd = "web"',
    "unless_ran": 'unless_ran = "*lint*"',
    "since": 'since = "edit", "ever" or "edit:PATH"',
    "failed_before": "failed_before = true",
    "times": "times = 2",
    "until_step": "until_step = 40",
}
_CONDITIONS = ("command", "writes", "path", "output", "finish")
_ON_ACTIONS = _CONDITIONS[:-1]
#: A list of more globs than this is no condition a person can read.
MAX_GLOBS = 32


@dataclass(frozen=True, slots=True)
class Watch:
    """A parsed `when`. `since` is `edit`, `ever` or `edit:` with a glob in `since_path`."""

    command: tuple[Glob, ...] = ()
    writes: tuple[Glob, ...] = ()
    path: tuple[Glob, ...] = ()
    output: tuple[Glob, ...] = ()
    finish: bool = False
    excluded: tuple[Glob, ...] = ()
    cwd: tuple[Glob, ...] = ()
    unless_ran: tuple[Glob, ...] = ()
    since: str = "edit"
    since_path: Glob | None = None
    failed_before: bool = False
    times: int = 1
    until_step: int | None = None

    @property
    def needle(self) -> str:
        """A text without which no command can meet the watch, "" if there is no such one."""
        return self.command[0].literal if len(self.command) == 1 else ""

    @property
    def precision(self) -> int:
        """How much it asks for: of two watches that fire, the one that asks for more is told."""
        given = (*self.command, *self.writes, *self.path, *self.output)
        narrowed = bool(self.cwd) + bool(self.unless_ran) + self.failed_before
        return max((len(glob.literal) for glob in given), default=0) + 8 * narrowed


def parse_watch(table: Mapping[str, Any]) -> Watch:
    """A watch from its table.

    Raises ValueError with a plain sentence that names the key and shows what it may be.
    """
    if not isinstance(table, Mapping):
        raise ValueError(f"a watch is a table such as {{ {KEYS['command']} }}")
    for key in table:
        if key not in KEYS:
            raise ValueError(_unknown(key))
    given = {key: value for key, value in table.items() if value is not None}
    finish = _flag(given, "finish")
    failed_before = _flag(given, "failed_before")
    if not any(key in given for key in _ON_ACTIONS) and not finish:
        raise ValueError(
            "a watch needs a moment: command, writes, path, output or finish, "
            f"for example {KEYS['command']}"
        )
    if finish:
        for key in (*_ON_ACTIONS, "not", "cwd", "failed_before"):
            if given.get(key):
                raise ValueError(
                    f"finish = true is the end of the turn and cannot stand with {key}; "
                    "write two entries, each with a watch of its own"
                )
    if "since" in given and "unless_ran" not in given:
        raise ValueError(f"since needs unless_ran, for example {KEYS['unless_ran']}")
    since, since_path = _since(given.get("since", "edit"))
    return Watch(
        command=_commands(given, "command"),
        writes=_paths(given, "writes"),
        path=_paths(given, "path"),
        output=_globs(given, "output"),
        finish=finish,
        excluded=tuple({*_commands(given, "not"), *_paths(given, "not")}),
        cwd=_paths(given, "cwd"),
        unless_ran=_commands(given, "unless_ran"),
        since=since,
        since_path=since_path,
        failed_before=failed_before,
        times=_count(given, "times") or 1,
        until_step=_count(given, "until_step"),
    )


def _unknown(key: object) -> str:
    from difflib import get_close_matches

    close = get_close_matches(str(key), KEYS, 1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"a watch has no key {str(key)[:40]!r}{hint}; its keys are {', '.join(KEYS)}"


def _texts(given: Mapping[str, Any], key: str) -> list[str]:
    if key not in given:
        return []
    value = given[key]
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{key} must be a glob or a list of globs, for example {KEYS[key]}")
    if not texts:
        raise ValueError(f"{key} is an empty list; give a glob, for example {KEYS[key]}")
    if len(texts) > MAX_GLOBS:
        raise ValueError(f"{key} has {len(texts)} globs; {MAX_GLOBS} are the most")
    return list(texts)


def _compiled(key: str, text: str) -> Glob:
    try:
        return compile_glob(text)
    except ValueError as error:
        shown = text if len(text) <= 60 else f"{text[:57]}…"
        raise ValueError(f'{key} = "{shown}" {error}; write for example {KEYS[key]}') from None


def _globs(given: Mapping[str, Any], key: str) -> tuple[Glob, ...]:
    return tuple(_compiled(key, text) for text in _texts(given, key))


def _commands(given: Mapping[str, Any], key: str) -> tuple[Glob, ...]:
    """Globs on commands: blanks as in a normal form, and quotes also matched as if left out."""
    globs: list[Glob] = []
    for text in _texts(given, key):
        spaced = " ".join(text.split())
        globs.append(_compiled(key, spaced))
        bare = spaced.replace('"', "").replace("'", "")
        if bare != spaced and bare:
            globs.append(_compiled(key, bare))
    return tuple(globs)


def _paths(given: Mapping[str, Any], key: str) -> tuple[Glob, ...]:
    """Globs on paths: `src/` is everything below src, `./x` is x, `**/x` is x anywhere."""
    globs: list[Glob] = []
    for text in _texts(given, key):
        path = text.strip()
        while path.startswith("./") and len(path) > 2:
            path = path[2:]
        if path.endswith("/") and len(path) > 1 and key != "cwd":
            path += "*"
        elif key == "cwd" and len(path) > 1:
            path = path.rstrip("/") or "/"
        globs.append(_compiled(key, path))
        if path.startswith("**/") and path.strip("*/"):
            globs.append(_compiled(key, path[3:]))
    return tuple(globs)


def _since(value: Any) -> tuple[str, Glob | None]:
    if value in ("edit", "ever"):
        return str(value), None
    if isinstance(value, str) and value.startswith("edit:"):
        [glob, *_] = _paths({"since": value.removeprefix("edit:")}, "since")
        return "edit:", glob
    raise ValueError(f"since can only be {KEYS['since'].removeprefix('since = ')}, not {value!r}")


def _flag(given: Mapping[str, Any], key: str) -> bool:
    value = given.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{key} can only be true, for example {KEYS[key]}")
    return value


def _count(given: Mapping[str, Any], key: str) -> int | None:
    value = given.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{key} must be a whole number of at least 1, for example {KEYS[key]}")
    return value
