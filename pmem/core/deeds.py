"""Deeds: which commands succeeded and which files were edited so far, and in which order.

What `unless_ran`, `since` and `failed_before` ask. Bounded, so that a step costs the same after a
week as at the start; parts of one line count in their order.
"""

from __future__ import annotations

import posixpath
from collections import OrderedDict
from collections.abc import Iterable
from functools import cache
from typing import TypeVar
from unicodedata import normalize

from pmem.core.data import table
from pmem.core.failure import is_refused
from pmem.core.glob import Glob, compile_glob
from pmem.core.history import Facts
from pmem.core.sight import Part, Sight, fits_path, place
from pmem.core.step import Step
from pmem.core.targets import writes
from pmem.core.tidy import is_log
from pmem.core.when import Watch

#: Different commands, files and actions remembered for watches that are still to come; of more the
#: oldest are forgotten. What an armed watch asks for is noted when it happens, and stays known.
MAX_SUCCEEDED = 500
MAX_EDITED = 500
MAX_OUTCOMES = 500

_OPERATORS = ("|", "&&", ";", " &")

K = TypeVar("K")
V = TypeVar("V")


class Deeds:
    """Fed with every finished step, asked when a watch is about to fire.

    For the watches it follows it keeps the answer at hand, so that asking costs nothing.
    """

    def __init__(self) -> None:
        self._clock = 0
        self._edited_at = 0
        self._edited: OrderedDict[str, int] = OrderedDict()
        self._succeeded: OrderedDict[Part, int] = OrderedDict()
        self._failed: OrderedDict[tuple[str, ...], bool] = OrderedDict()
        self._ran_at: dict[tuple[Glob, ...], int] = {}
        self._path_edited_at: dict[Glob, int] = {}

    def follow(self, watch: Watch, project: str) -> None:
        """Find out once what a new watch asks for, and keep it up to date from now on."""
        if watch.unless_ran and watch.unless_ran not in self._ran_at:
            ran = (at for part, at in self._succeeded.items() if counts(watch.unless_ran, part))
            self._ran_at[watch.unless_ran] = max(ran, default=0)
        glob = watch.since_path
        if glob is not None and glob not in self._path_edited_at:
            edited = (at for path, at in self._edited.items() if fits_path((glob,), path, project))
            self._path_edited_at[glob] = max(edited, default=0)

    def follow_only(self, watches: Iterable[Watch]) -> None:
        """Forget what no watch asks for any more."""
        watches = list(watches)
        globs = {watch.unless_ran for watch in watches}
        paths = {watch.since_path for watch in watches}
        self._ran_at = {g: at for g, at in self._ran_at.items() if g in globs}
        self._path_edited_at = {g: at for g, at in self._path_edited_at.items() if g in paths}

    def take(self, step: Step, facts: Facts, seen: Sight, project: str) -> None:
        """Take in a finished step; one that the user refused did nothing."""
        if is_refused(step):
            return
        if seen.same:
            _remember(self._failed, seen.same, facts.failed, MAX_OUTCOMES)
        if step.kind == "edit" and not facts.failed:
            self._edit(seen.written or ("",), project)
        for part in seen.parts:
            self._clock += 1
            # Which parts of a failed line ran nobody knows; a lone command did nothing.
            if (not facts.failed or len(seen.parts) > 1) and (paths := edits(part, project)):
                self._edit(paths, project)
            if not facts.failed and not part.background:
                self._succeed(part)
        if len(seen.parts) > 1 and not facts.failed:
            self._succeed(_whole(seen))

    def ran(self, watch: Watch, project: str) -> bool:
        """Whether a command that `unless_ran` names has succeeded since its `since`."""
        self.follow(watch, project)
        at = self._ran_at[watch.unless_ran]
        if watch.since == "ever":
            return at > 0
        edited = self._edited_at
        if watch.since_path is not None:
            edited = self._path_edited_at[watch.since_path]
        return at > 0 and at >= edited

    def failed(self, seen: Sight) -> bool:
        """Whether the same action failed when it was last done."""
        return self._failed.get(seen.same, False)

    def _succeed(self, part: Part) -> None:
        _remember(self._succeeded, part, self._clock, MAX_SUCCEEDED)
        text = normalize("NFC", "\n".join(part.forms))
        for globs in self._ran_at:
            if any(glob.literal in text for glob in globs) and counts(globs, part):
                self._ran_at[globs] = self._clock

    def _edit(self, paths: Iterable[str], project: str) -> None:
        self._clock += 1
        self._edited_at = self._clock
        for path in paths:
            if not path:
                continue
            _remember(self._edited, path, self._clock, MAX_EDITED)
            for glob in self._path_edited_at:
                if fits_path((glob,), path, project):
                    self._path_edited_at[glob] = self._clock


def counts(globs: Iterable[Glob], part: Part) -> bool:
    """Whether a command is one of those that `unless_ran` names.

    `*lint*` is no `cat lint.sh` and no `git commit -m lint`: what only reads or talks counts
    where the glob names its program.
    """
    talks = part.reads or part.program in _talkers()
    for glob in globs:
        if glob.open and talks and part.program not in glob.text:
            continue
        if any(glob.matches(form) for form in looked_at(glob, part)):
            return True
    return False


def looked_at(glob: Glob, part: Part) -> tuple[str, ...]:
    """The forms of a command that a glob is matched on."""
    return part.open_forms if glob.open and not has_operator(glob) else part.forms


def edits(part: Part, project: str) -> tuple[str, ...]:
    """The files of the project that a simple command edits, "" for ones it does not name.

    Outputs that are kept, what a build makes, and formatting count as no edit.
    """
    found: list[str] = []
    if part.program not in _words("not_edits"):
        outputs = () if part.reads else tuple(table("watch")["outputs"].split())
        for path in writes(part.forms[0] if part.forms else ""):
            kept = is_log(path) or (
                outputs and part.program not in _words("writers") and path.endswith(outputs)
            )
            where = place(path, part.cwd, project)
            if not kept and not _outside(where, project) and not _product(where):
                found.append(where)
    if not found and not part.reads and any(map(_edits_broadly, part.forms)):
        found.append("")
    return tuple(found)


def _edits_broadly(form: str) -> bool:
    edits, not_edits = _edit_globs()
    return any(g.matches(form) for g in edits) and not any(g.matches(form) for g in not_edits)


def _outside(path: str, project: str) -> bool:
    return bool(project) and path.startswith(("/", "~"))


def _product(path: str) -> bool:
    return not _words("products").isdisjoint(posixpath.normpath(path).split("/"))


def _whole(seen: Sight) -> Part:
    """A compound line as if it were one command: only globs with an operator look at it."""
    return Part((seen.whole,), (), seen.cwd, "", reads=False, background=False)


def has_operator(glob: Glob) -> bool:
    """Whether a glob speaks of more than one simple command."""
    return any(operator in glob.text for operator in _OPERATORS)


def _remember(kept: OrderedDict[K, V], key: K, value: V, limit: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > limit:
        kept.popitem(last=False)


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(table("watch")[name].split())


@cache
def _talkers() -> frozenset[str]:
    return _words("talks")


@cache
def _edit_globs() -> tuple[tuple[Glob, ...], tuple[Glob, ...]]:
    known = table("watch")
    return tuple(map(compile_glob, known["edits"])), tuple(map(compile_glob, known["edits_not"]))
