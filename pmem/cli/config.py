"""`pmem config`: every setting, its value, where that is from; and changing one."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pmem.cli.completion import complete_setting
from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option, json_option
from pmem.cli.project import project_of, settings_of
from pmem.cli.words import shown

if TYPE_CHECKING:
    from pmem.store.project import Project
    from pmem.store.settings import Settings


@click.command(
    epilog="""\b
Examples:
  pmem config                    all settings, and where each value is from
  pmem config interval           one value
  pmem config interval 10        for this project, in .pmem/pmem.toml
  pmem config --user quiet true  for all your projects
  pmem config --unset interval
  pmem config consent yes        let the model be asked in this project

What is said last wins: default, the user's config.toml, the project's pmem.toml, PMEM_* in the
environment (PMEM_INTERVAL=10), an option of run or shell."""
)
@click.argument("key", required=False, shell_complete=complete_setting)
@click.argument("value", required=False)
@click.option("--user", is_flag=True, help="Change the user's own file, for all projects.")
@click.option("--unset", is_flag=True, help="Take KEY out of the file.")
@json_option
@directory_option
@click.pass_obj
def config(
    environment: Environment,
    key: str | None,
    value: str | None,
    user: bool,
    unset: bool,
    as_json: bool,
    directory: str | None,
) -> None:
    """Show the settings, show one, or change one."""
    from pmem.store.knobs import KNOBS

    if key == "consent":
        _consent(environment, project_of(environment, directory), value, unset=unset)
        return
    if key is not None and key not in KNOBS:
        near = get_close_matches(key, KNOBS, n=1)
        hint = f"did you mean {near[0]}?" if near else "pmem config shows all"
        raise click.UsageError(f"there is no setting {key!r}; {hint}")
    project = project_of(environment, directory)
    if value is not None or unset:
        if key is None or (value is not None and unset):
            raise click.UsageError("--unset takes a KEY and no value")
        change(environment, project, key, value, user=user)
        return
    settings = settings_of(environment, project)
    for remark in settings.remarks:
        environment.say(remark)
    if as_json:
        _write(environment, settings, key)
    elif key is not None:
        environment.write(words(getattr(settings, key)))
    else:
        _show(environment, settings)


def _consent(environment: Environment, project: Project, value: str | None, *, unset: bool) -> None:
    """Show, give or take back the yes to the model of the settings. It lies in the user's state."""
    from pmem.cli.consent import explained, say_yes
    from pmem.store.consent import Offered, consented, decline, refuse
    from pmem.store.places import state_home

    settings = settings_of(environment, project)
    if unset:
        refuse(project)
        Offered(project, state_home(environment.env)[0]).forget()
        environment.say("nothing is said about any model here; you will be asked")
        return
    if value not in (None, "yes", "no"):
        raise click.UsageError(f"consent must be yes or no, not {value!r}")
    if not settings.model:
        raise Trouble("there is no model to say yes to", "pmem config model anthropic:NAME")
    if value is None:
        given = consented(project, settings.model, settings.base_url)
        environment.write("yes" if given else "no")
    elif value == "yes":
        say_yes(environment, project, settings)
        for line in explained(environment, settings):
            environment.write_words(line)
        environment.say(f"{settings.model} may be asked in this project")
    else:
        decline(project, settings.model, settings.base_url)
        environment.say(f"{settings.model} is not asked in this project")


def change(
    environment: Environment, project: Project, key: str, value: str | None, *, user: bool
) -> None:
    """Set KEY in the project's or the user's file, or take it out. Raises Trouble."""
    from pmem.store.knobs import SettingsError
    from pmem.store.places import config_file
    from pmem.store.settings_file import set_project_value, set_value

    path = config_file(environment.env) if user else project.settings
    if path is None:
        raise Trouble("there is no home directory for your settings", "set HOME")
    if project.read_only and not user:
        raise Trouble(f"nothing is kept in {project.root}", "--user sets it for all projects")
    try:
        if user:
            set_value(path, key, value)
        else:
            # What an agent runs in its own shell is no word of the user's.
            by_user = environment.terminal or not environment.env.get("PMEM_SOCK")
            set_project_value(project, key, value, by_user=by_user)
    except SettingsError as error:
        raise Trouble(str(error), code=Exit.USAGE) from None
    except OSError as error:
        raise Trouble(f"cannot write {path}: {error.strerror or error}", "check it") from None
    settings = settings_of(environment, project)
    now = words(getattr(settings, key)) or "empty"
    environment.say(f"{key} is {now}, from {_from(environment, settings, key)}")
    if environment.env.get("PMEM_SOCK"):
        environment.say("the session that runs here goes on as it began; the next one takes it")


def words(value: Any) -> str:
    """A value as it is typed after `pmem config KEY`.

    >>> words(True), words(("op *", "vault *")), words(60.0)
    ('true', 'op *, vault *', '60')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _from(environment: Environment, settings: Settings, key: str) -> str:
    source = settings.sources[key]
    return shown(Path(source), environment.cwd) if source.startswith("/") else source


def _write(environment: Environment, settings: Settings, key: str | None) -> None:
    from pmem.cli.tables import write_json
    from pmem.store.knobs import KNOBS

    told = {
        name: {"value": getattr(settings, name), "source": settings.sources[name]}
        for name in KNOBS
        if key in (None, name)
    }
    write_json(environment, told)


def _show(environment: Environment, settings: Settings) -> None:
    from pmem.cli.tables import grid, show, text
    from pmem.store.knobs import KNOBS

    table = grid(("setting", "value", "from", "what for"))
    for name, knob in KNOBS.items():
        source = _from(environment, settings, name)
        default = source.startswith("default")
        table.add_row(
            text(name, "cyan"),
            text(words(getattr(settings, name)), "" if default else "bold"),
            text(source, "dim" if default else ""),
            text(knob.about, "dim"),
        )
    show(environment, table)
