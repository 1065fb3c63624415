"""Whether an action, or what it printed, meets the condition of a watch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pmem.core.deeds import Deeds, counts, edits, has_operator, looked_at
from pmem.core.glob import Glob
from pmem.core.sight import Part, Sight, fits_directory, fits_path
from pmem.core.when import Watch

#: Characters of what met a watch that are told.
_MATCHED = 200


def meets(
    watch: Watch, seen: Sight, project: str, deeds: Deeds, observation: str | None = None
) -> str | None:
    """What met the watch (a command, a path, a line), None if it is not met.

    `observation` is what the action printed, None before it has run. All conditions of the watch
    must hold.
    """
    matched: str | None = None
    at = len(seen.parts)
    if watch.command:
        found = _command(watch, seen, project)
        if found is None:
            return None
        at, matched = found
    elif watch.cwd and not _runs_there(watch, seen, project):
        return None
    if watch.writes:
        matched = _path(watch.writes, seen.written, watch, seen, project)
        if matched is None:
            return None
    if watch.path:
        matched = _path(watch.path, seen.named, watch, seen, project)
        if matched is None:
            return None
    if watch.output:
        matched = _output(watch, seen, observation or "")
        if matched is None:
            return None
    if watch.failed_before and not deeds.failed(seen):
        return None
    if watch.unless_ran and (_ran_in_line(watch, seen, at, project) or deeds.ran(watch, project)):
        return None
    return (matched or "")[:_MATCHED]


def _command(watch: Watch, seen: Sight, project: str) -> tuple[int, str] | None:
    """Which part of a line meets `command`, by its index, and the form that does."""
    if not any(glob.literal in seen.text for glob in watch.command):
        return None
    plain = [glob for glob in watch.command if not has_operator(glob)]
    for at, part in enumerate(seen.parts):
        if watch.cwd and not fits_directory(watch.cwd, part.cwd, project):
            continue
        form = _first((glob, form) for glob in plain for form in looked_at(glob, part))
        if form is not None and not _fine(watch.excluded, seen, [part]):
            return at, form
    if len(plain) == len(watch.command) or not _runs_there(watch, seen, project):
        return None
    lines = (seen.whole, *seen.typed[:1])
    form = _first((g, line) for g in watch.command if has_operator(g) for line in lines)
    if form is None or _fine(watch.excluded, seen, seen.parts):
        return None
    return len(seen.parts), form


def _first(pairs: Iterable[tuple[Glob, str]]) -> str | None:
    return next((text for glob, text in pairs if glob.matches(text)), None)


def _runs_there(watch: Watch, seen: Sight, project: str) -> bool:
    """Whether any part of an action runs where `cwd` asks for."""
    places = {seen.cwd, *(part.cwd for part in seen.parts)}
    return not watch.cwd or any(fits_directory(watch.cwd, place, project) for place in places)


def _fine(excluded: Sequence[Glob], seen: Sight, parts: Sequence[Part]) -> bool:
    """Whether a command is written in a form that `not` names: by itself or by its whole line."""
    texts = (seen.whole, *seen.typed, *(form for part in parts for form in part.forms))
    return any(glob.matches(text) for glob in excluded for text in texts)


def _path(
    globs: Sequence[Glob], paths: Sequence[str], watch: Watch, seen: Sight, project: str
) -> str | None:
    if not any(glob.literal in seen.paths for glob in globs):
        return None
    for path in paths:
        if fits_path(globs, path, project) and not fits_path(watch.excluded, path, project):
            return None if _fine(watch.excluded, seen, seen.parts) else path
    return None


def _output(watch: Watch, seen: Sight, observation: str) -> str | None:
    """The line that meets `output`, or the first one if the whole text does."""
    # Words in a file that was merely read are nothing that happened.
    if seen.kind == "read":
        return None
    for glob in watch.output:
        line = _line(glob, observation)
        if line is not None:
            fine = _fine(watch.excluded, seen, seen.parts)
            fine = fine or any(_line(g, observation) is not None for g in watch.excluded)
            return None if fine else line
    return None


def _line(glob: Glob, text: str) -> str | None:
    if glob.literal not in text:
        return None
    for line in text.split("\n"):
        if glob.matches(line.strip()):
            return line.strip()
    return text.strip().partition("\n")[0] if glob.matches(text) else None


def _ran_in_line(watch: Watch, seen: Sight, at: int, project: str) -> bool:
    """Whether the line itself runs what `unless_ran` names, before the part in question."""
    for part in reversed(seen.parts[:at]):
        if counts(watch.unless_ran, part) and not part.background:
            return True
        if watch.since != "ever" and edits(part, project):
            return False
    return False
