"""Settings of a session: flag > PMEM_* > project pmem.toml > user config.toml > default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pmem.store import places
from pmem.store.knobs import KNOBS, OFF, Knob, SettingsError, Value
from pmem.store.project import Project

__all__ = ["Settings", "SettingsError", "load_settings"]


class Settings(NamedTuple):
    """Every setting, as knobs.py explains them; `timeout` and `patience` are in seconds.

    `sources` says for each where it came from (`default`, a file, a variable, `--flag`);
    `remarks` are sentences for the user about what was not taken.
    """

    arm: str = "rules"
    model: str = ""
    base_url: str = ""
    interval: int = 5
    window: int = 8
    hold: str = "sure"
    mode: str = "async"
    timeout: float = 60.0
    deliver: str = "both"
    pure: bool = False
    session_tokens: int = 2_000_000
    session_money: float = 2.0
    day_tokens: int = 10_000_000
    day_money: float = 10.0
    pane: str = "auto"
    notify: str = "auto"
    quiet: bool = False
    record: bool = False
    without: tuple[str, ...] = ()
    scope: str = "project"
    private: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    patience: float = 0.0
    max_entries: int = 500
    archive_mb: int = 20
    keep_days: int = 90
    keep_mb: int = 500
    shell: str = ""
    agent: str = ""
    gate: str = ""
    off: bool = False

    sources: Mapping[str, str] = MappingProxyType({})
    remarks: tuple[str, ...] = ()


def load_settings(
    project: Project, env: Mapping[str, str], flags: Mapping[str, Any] | None = None
) -> Settings:
    """The settings in force. A flag that is None was not given.

    Raises SettingsError naming place, key and what is allowed.
    """
    remarks: list[str] = []
    values: dict[str, Any] = {}
    sources = dict.fromkeys(KNOBS, "default")
    for source, given in (
        *_from_files(project, env, remarks),
        *_from_environment(env),
        *_from_flags(flags or {}),
    ):
        for name, value in given.items():
            values[name] = value
            sources[name] = source
    if values.get("model") and sources["arm"] == "default":
        values["arm"] = "selective"
        sources["arm"] = "default with a model"
    return Settings(**values, sources=sources, remarks=tuple(remarks))


Given = tuple[str, dict[str, Value]]


def _from_files(project: Project, env: Mapping[str, str], remarks: list[str]) -> list[Given]:
    given: list[Given] = []
    own = places.config_file(env)
    if own is not None:
        given.append(_from_file(os.fspath(own), _read(own, follow=True)[0], remarks))
    if not project.read_only:
        path = os.fspath(project.settings)
        table, content = _read(project.settings)
        source, values = _from_file(path, table, remarks)
        running = sorted(name for name in values if KNOBS[name].runs)
        if running and not _trusted(project, content):
            for name in running:
                del values[name]
            remarks.append(
                f"{path} names {_listed(running)}, which is not used until you trust the file:"
                " read it, then pmem trust"
            )
        given.append((source, values))
    return given


def _from_file(path: str, table: Mapping[str, Any], remarks: list[str]) -> Given:
    values: dict[str, Value] = {}
    for name, value in table.items():
        knob = KNOBS.get(name)
        if knob is None:
            remarks.append(f"{path}: there is no setting {name!r}{_meant(name)}")
            continue
        try:
            values[name] = knob.check(value)
        except ValueError as error:
            raise SettingsError(f"{path}: {name} {error}, not {value!r}") from None
    return path, values


def _from_environment(env: Mapping[str, str]) -> list[Given]:
    given: list[Given] = []
    for name, knob in KNOBS.items():
        variable = f"PMEM_{name.upper()}"
        text = env.get(variable)
        if text is None:
            continue
        if not text and not isinstance(knob.default, (str, bool, tuple)):
            continue
        given.append((variable, {name: _from_text(knob, text, variable)}))
    switch = env.get("PMEM", "").strip().lower()
    if switch and switch in OFF:
        given.append(("PMEM", {"off": True}))
    return given


def _from_flags(flags: Mapping[str, Any]) -> list[Given]:
    given: list[Given] = []
    for name, value in flags.items():
        if value is None:
            continue
        flag = f"--{name.replace('_', '-')}"
        knob = KNOBS.get(name)
        if knob is None:
            raise SettingsError(f"there is no setting {name!r}{_meant(name)}")
        try:
            given.append((flag, {name: knob.check(value)}))
        except ValueError as error:
            raise SettingsError(f"{flag} {error}, not {value!r}") from None
    return given


def _from_text(knob: Knob, text: str, where: str) -> Value:
    try:
        return knob.read(text)
    except ValueError as error:
        raise SettingsError(f"{where} {error}, not {text!r}") from None


def _read(path: Path, *, follow: bool = False) -> tuple[dict[str, Any], bytes]:
    if not os.path.lexists(path):
        return {}, b""
    from pmem.store.settings_file import read_table

    return read_table(path, follow=follow)


def _trusted(project: Project, content: bytes) -> bool:
    from pmem.store.trust import is_trusted

    return is_trusted(project, content)


def _meant(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, KNOBS, 1)
    return f"; did you mean {close[0]}?" if close else "; pmem config shows all"


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
