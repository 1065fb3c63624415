"""Sight: what there is to see in an action, in the forms that watches are matched on."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from unicodedata import normalize

from pmem.core.data import table
from pmem.core.effect import Effect, program_effect
from pmem.core.glob import Glob
from pmem.core.signature import Command, located, normal_form, parse
from pmem.core.step import Action
from pmem.core.targets import names, writes

#: Actions up to this many characters are kept seen.
_CACHED = 8 * 1024
#: Of a longer command only this much is matched as it was typed.
_TYPED = 2000
#: Simple commands of one line that are looked at.
_MAX_PARTS = 64

_QUOTED = re.compile(r"""'[^']*\s[^']*'|"[^"]*\s[^"]*\"""")
_OPERATOR = re.compile(r"&&|\|\||[|;&\n]")
_BLANK = re.compile(r"\s")
_EDIT = re.compile(
    r"(?:multi_?|notebook)?(?:edit|write|create|update|delete|str_?replace\w*|insert|replace)"
    r"(?:_file)?\s+(\S.*)",
    re.IGNORECASE,
)
_LINES = re.compile(r"\d+(?::\d+)?")
_READ = re.compile(r"(?:notebook_?)?(?:read|open|view|cat|ls)(?:_file)?\s+(\S.*)", re.IGNORECASE)
_READ_RANGE = re.compile(r"(?:\s+(?:offset|limit|pages)=\S+)+\s*$")
_PATCH = re.compile(
    r"^\*\*\* (?:Update|Add|Delete|Move to)(?: File)?: (.+)$|^(?:\+\+\+|---) (?:[ab]/)?(\S+)", re.M
)
_ARGUMENT = re.compile(
    r"""\b(?:file_?|notebook_?|abs_?)?path"?\s*[=:]\s*"((?:[^"\\]|\\.)+)\"""", re.I
)


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command: its normal form, its bare words, and both without what stands in
    quotes and has blanks, where that is not itself run. `cwd` is where it runs; `reads` says that
    the program changes nothing, whatever its output is redirected to."""

    forms: tuple[str, ...]
    open_forms: tuple[str, ...]
    cwd: str
    program: str
    reads: bool
    background: bool


@dataclass(frozen=True, slots=True)
class Sight:
    """An action as watches see it. Paths are relative to the project, or absolute outside it.

    `typed` is a command as it was written, and its parts, without here-documents.
    """

    kind: str
    cwd: str
    parts: tuple[Part, ...] = ()
    whole: str = ""
    typed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    #: Under which the outcome of this very action is remembered.
    same: tuple[str, ...] = ()
    #: All forms of a command, and all paths, to tell at once that a word is in none of them.
    text: str = ""
    paths: str = ""


def sight(action: Action, project: str = "") -> Sight:
    """See an action; `project` is the absolute path that relative paths start from."""
    if len(action.text) > _CACHED:
        return _see(action.kind, action.text, action.cwd or "", project)
    return _kept_sight(action.kind, action.text, action.cwd or "", project)


@lru_cache(maxsize=256)
def _kept_sight(kind: str, text: str, cwd: str, project: str) -> Sight:
    return _see(kind, text, cwd, project)


def _see(kind: str, text: str, cwd: str, project: str) -> Sight:
    here = place("", cwd, project)
    if kind == "command":
        return _see_command(text, cwd, project)
    if kind == "edit":
        written = _placed(edited_paths(text), cwd, project)
        paths = _together(written, project)
        return Sight(
            kind, here, written=written, named=written, same=("edit", *written), paths=paths
        )
    named = _placed(_read_paths(text), cwd, project)
    return Sight(kind, here, named=named, paths=_together(named, project))


def _see_command(text: str, cwd: str, project: str) -> Sight:
    normal, where = located(text, cwd)
    parts = tuple(_part(c, cwd, project) for c in parse(text)[:_MAX_PARTS])
    whole, typed = normal_form(text), _typed(text)
    forms = (form for part in parts for form in (*part.forms, *part.open_forms))
    named = _placed((*names(text), *writes(text)), cwd, project)
    return Sight(
        kind="command",
        cwd=place("", cwd, project),
        parts=parts,
        whole=whole,
        typed=typed,
        text=normalize("NFC", "\n".join((*forms, whole, *typed))),
        written=_placed(writes(text), cwd, project),
        named=named,
        paths=_together(named, project),
        same=("command", normal, place("", where, project)),
    )


def _together(paths: Iterable[str], project: str) -> str:
    return normalize("NFC", "\n".join(f"{project}/{path}" for path in paths))


def _part(command: Command, cwd: str, project: str) -> Part:
    program = command.words[0].rpartition("/")[2] if command.words else ""
    plain = " ".join((program, *command.words[1:]))
    forms = _distinct(command.text, plain)
    if program in _words("runs_its_text"):
        open_forms = forms
    else:
        hidden = (w if _BLANK.search(w) is None else "…" for w in command.words[1:])
        open_forms = _distinct(_QUOTED.sub("…", command.text), " ".join((program, *hidden)))
    return Part(
        forms=forms,
        open_forms=open_forms,
        cwd=place(command.cwd or "", cwd, project),
        program=program,
        reads=program_effect(command.words) is Effect.READS,
        background=command.text.endswith(" &"),
    )


def _distinct(*forms: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(form for form in forms if form))


def _typed(text: str) -> tuple[str, ...]:
    head = text[:_TYPED]
    before, heredoc, after = head.partition("<<")
    if heredoc:
        head = before + heredoc + after.partition("\n")[0]
    parts = (" ".join(part.split()) for part in _OPERATOR.split(head))
    return _distinct(" ".join(head.split()), *parts)


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(table("watch")[name].split())


# -- paths ------------------------------------------------------------------------------------


def place(path: str, cwd: str, project: str) -> str:
    """A path as it is matched: relative to the project ("." is its root), absolute outside it.

    What begins with `~` or `$` stays as written.
    """
    if path.startswith(("~", "$")):
        return path
    whole = posixpath.normpath(posixpath.join(project, cwd, path) or ".")
    root = posixpath.normpath(project) if project else ""
    if root and whole == root:
        return "."
    if root and whole.startswith(root.rstrip("/") + "/"):
        return whole[len(root.rstrip("/")) + 1 :]
    return whole


def _placed(paths: Iterable[str], cwd: str, project: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(place(path, cwd, project) for path in paths))


def edited_paths(text: str) -> list[str]:
    """The files that the text of an edit names, as written."""
    patched = [a or b for a, b in _PATCH.findall(text)] if "\n" in text else []
    patched = [path.strip() for path in patched if path.strip() not in ("/dev/null", "old", "new")]
    first = text.partition("\n")[0].strip()
    named = _EDIT.fullmatch(first)
    if named is not None and _LINES.fullmatch(named[1]) is None:
        argument = _ARGUMENT.search(named[1])
        return [argument[1] if argument else named[1].strip("\"'")]
    if patched:
        return patched
    return _arguments(text)


def _read_paths(text: str) -> list[str]:
    first = text.partition("\n")[0].strip()
    named = _READ.fullmatch(first)
    if named is not None and "=" not in named[1].split()[0]:
        return [_READ_RANGE.sub("", named[1]).strip("\"'")]
    return _arguments(text)


def _arguments(text: str) -> list[str]:
    return [path for path in _ARGUMENT.findall(text[:_CACHED]) if "\n" not in path]


def fits_path(globs: Iterable[Glob], path: str, project: str) -> bool:
    """Whether a glob fits a path of a Sight: its name or one of its directories if the glob has
    no `/`, else the whole path or a directory above it."""
    return any(_fits(glob, path, project) for glob in globs)


def _fits(glob: Glob, path: str, project: str) -> bool:
    if "/" not in glob.text:
        return glob.matches(path) or any(glob.matches(name) for name in path.split("/") if name)
    if any(glob.matches(above) for above in (path, *_above(path))):
        return True
    if path.startswith(("/", "~", "$")) or not project:
        return False
    absolute = posixpath.normpath(posixpath.join(project, path))
    return any(glob.matches(above) for above in (absolute, *_above(absolute)))


def fits_directory(globs: Iterable[Glob], directory: str, project: str) -> bool:
    """Whether a directory of a Sight is, or lies below, one that a glob fits."""
    absolute = posixpath.normpath(posixpath.join(project, directory)) if project else directory
    candidates = [directory, *_above(directory)]
    if not directory.startswith(("/", "~", "$")):
        candidates.append(".")
        candidates += [absolute, *_above(absolute)]
    return any(glob.matches(candidate) for glob in globs for candidate in candidates)


def _above(path: str) -> Iterable[str]:
    """The directories above a path, nearest first; without "." for a relative one."""
    while True:
        path = posixpath.dirname(path)
        if not path or path in ("/", "//"):
            return
        yield path
