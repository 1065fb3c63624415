"""A settings file: read whole, changed one line at a time, so that comments and order stay."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pmem.store import files, toml_text
from pmem.store.knobs import KNOBS, SettingsError, Value
from pmem.store.project import Project, ensure


def read_table(path: Path, *, follow: bool = False) -> tuple[dict[str, Any], bytes]:
    """The file's keys and its bytes; a file that is not there is empty.

    `follow`: it may be a symbolic link, as a user's own file in their dotfiles often is.
    Raises SettingsError if it cannot be read or is no TOML.
    """
    try:
        content, _ = files.read_file(path.resolve() if follow else path)
    except FileNotFoundError:
        return {}, b""
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None
    return _parse(content, path), content


def set_value(path: Path, name: str, text: str | None, *, follow: bool = True) -> Value | None:
    """Set a setting in a file from its words on the command line; None takes it out.

    All else in the file stays as it is. Returns the value. Raises SettingsError, and OSError
    where the file cannot be written; either leaves it untouched.
    """
    knob = KNOBS.get(name)
    if knob is None:
        raise SettingsError(f"there is no setting {name!r}; pmem config shows all")
    value: Value | None = None
    if text is not None:
        try:
            value = knob.read(text)
        except ValueError as error:
            raise SettingsError(f"{name} {error}, not {text!r}") from None
    table, content = read_table(path, follow=follow)
    wanted = {key: thing for key, thing in table.items() if key != name}
    if value is not None:
        wanted[name] = list(value) if isinstance(value, tuple) else value
    if wanted != table:
        edited = _edited(content.decode(), name, wanted)
        files.write_file(path.resolve() if follow else path, edited.encode())
    return value


def set_project_value(
    project: Project, name: str, text: str | None, *, by_user: bool = True
) -> Value | None:
    """The same in the project's pmem.toml, which is made if need be; a trusted one stays so where
    the user changed it."""
    from pmem.store import trust

    ensure(project)
    content, _ = files.read_file(project.settings)
    trusted = by_user and trust.is_trusted(project, content)
    value = set_value(project.settings, name, text, follow=False)
    if trusted:
        trust.trust(project)
    return value


def _edited(text: str, name: str, wanted: Mapping[str, Any]) -> str:
    """The text with the one line changed; the smallest change after which it says `wanted`."""
    new = f"{toml_text.key(name)} = {toml_text.value(wanted[name])}" if name in wanted else None
    lines = text.split("\n")
    candidates = _replaced(lines, name, new)
    if new is not None:
        candidates += [*_uncommented(lines, name, new), _inserted(lines, new)]
    for candidate in candidates:
        edited = "\n".join(candidate)
        if _says(edited, wanted):
            return edited if edited.endswith("\n") or not edited else edited + "\n"
    raise SettingsError(f"cannot find the place for {name} in the file; please edit it by hand")


def _replaced(lines: list[str], name: str, new: str | None) -> list[list[str]]:
    """The text with each place that may be the setting's replaced, a remark behind it kept."""
    found = []
    start = re.compile(rf"""\s*["']?{re.escape(name)}["']?\s*=""")
    for first, line in enumerate(lines):
        if not start.match(line):
            continue
        for last in range(first + 1, len(lines) + 1):
            if _table("\n".join(lines[first:last])) is not None:
                kept = [] if new is None else [new + _remark(lines[first], last - first)]
                found.append([*lines[:first], *kept, *lines[last:]])
                break
    return found


def _uncommented(lines: list[str], name: str, new: str) -> list[list[str]]:
    """The text with a line such as `# interval = 5   # why` put in force."""
    found = []
    for at, line in enumerate(lines):
        match = re.match(rf"#\s*({re.escape(name)}\s*=.*)", line)
        if match and _table(match[1]) is not None:
            found.append([*lines[:at], new + _remark(match[1], 1), *lines[at + 1 :]])
    return found


def _inserted(lines: list[str], new: str) -> list[str]:
    """The text with the line before the first table, else at its end."""
    at = next((n for n, line in enumerate(lines) if re.match(r"\s*\[", line)), len(lines))
    while at > 0 and not lines[at - 1].strip():
        at -= 1
    return [*lines[:at], new, *lines[at:]]


def _remark(line: str, rows: int) -> str:
    """The comment at the end of a setting's line, with the space before it."""
    if rows > 1:
        return ""
    said = _table(line)
    for match in re.finditer(r"\s*#", line):
        if said is not None and _table(line[: match.start()]) == said:
            return line[match.start() :]
    return ""


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    return _table(text) == wanted


def _table(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _parse(content: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: is not UTF-8 text") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: {error}") from None
