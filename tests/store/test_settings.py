"""Settings: flag over variable over project over user over default, and each says where from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pmem.store.knobs import KNOBS
from pmem.store.project import TEMPLATE, Project, ensure
from pmem.store.settings import Settings, SettingsError, load_settings
from pmem.store.settings_file import set_project_value, set_value
from pmem.store.trust import is_trusted, trust


def load(project: Project, flags: dict[str, Any] | None = None, **env: str) -> Settings:
    return load_settings(project, {**os.environ, **env}, flags)


@pytest.fixture
def user_file(home: Path) -> Path:
    path = home / ".config" / "pmem" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def here(project: Project) -> Project:
    """A project whose .pmem was made here."""
    ensure(project)
    return project


def test_the_defaults_are_those_of_the_table(project: Project) -> None:
    settings = load(project)
    assert {name: getattr(settings, name) for name in KNOBS} == {
        name: knob.default for name, knob in KNOBS.items()
    }
    assert set(settings.sources.values()) == {"default"}
    assert set(Settings._fields) == {*KNOBS, "sources", "remarks"}


def test_each_source_stands_over_the_next(here: Project, user_file: Path) -> None:
    told = []

    def now(flags: dict[str, Any] | None = None, **env: str) -> None:
        settings = load(here, flags, **env)
        told.append((settings.interval, settings.sources["interval"]))

    user_file.write_text("interval = 2\n")
    now()
    here.settings.write_text("interval = 3\n")
    now()
    now(PMEM_INTERVAL="4")
    now({"interval": 6, "hold": None}, PMEM_INTERVAL="4")
    assert told == [
        (2, str(user_file)),
        (3, str(here.settings)),
        (4, "PMEM_INTERVAL"),
        (6, "--interval"),
    ]


@pytest.mark.parametrize("word", ["off", "OFF", "0", "false", "no"])
def test_pmem_off_switches_everything_off(project: Project, word: str) -> None:
    settings = load(project, PMEM=word)
    assert settings.off and settings.sources["off"] == "PMEM"


@pytest.mark.parametrize("word", ["", "on", "1"])
def test_other_words_do_not(project: Project, word: str) -> None:
    assert not load(project, PMEM=word).off


def test_a_model_makes_the_arm_selective_unless_one_is_named(project: Project) -> None:
    assert load(project, PMEM_MODEL="scripted:a.json").arm == "selective"
    assert load(project, PMEM_MODEL="scripted:a.json", PMEM_ARM="rules").arm == "rules"


def test_the_directories_of_the_xdg_variables_count(project: Project, tmp_path: Path) -> None:
    (tmp_path / "c" / "pmem").mkdir(parents=True)
    (tmp_path / "c" / "pmem" / "config.toml").write_text("quiet = true\n")
    assert load(project, XDG_CONFIG_HOME=str(tmp_path / "c")).quiet


def test_without_a_home_there_are_settings_all_the_same(project: Project) -> None:
    assert load(project, HOME="/nonexistent").interval == 5


def test_an_unknown_key_is_a_remark_that_names_the_near_one(here: Project) -> None:
    here.settings.write_text("intervall = 3\n")
    settings = load(here)
    assert settings.interval == 5
    assert "'intervall'" in settings.remarks[0] and "mean interval?" in settings.remarks[0]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('hold = "maybe"', 'hold must be "sure", "watch" or "never", not'),
        ("interval = 0", "interval must be a whole number, 1 or more"),
        ('interval = "five"', "interval must be a whole number"),
        ("interval = true", "interval must be a whole number"),
        ("interval = 2.5", "interval must be a whole number"),
        ("timeout = nan", "timeout must be a number"),
        ("day_money = inf", "day_money must be a number"),
        ('base_url = "localhost:8000"', "base_url must be an address, as in http://"),
        ("quiet = 1", "quiet must be true or false"),
        ("private = 3", "private must be a list of globs"),
        ('private = ["["]', "private must be a list of globs"),
        ('secrets = ["("]', "secrets must be a list of regular expressions"),
        ('model = "gpt"', "model must be anthropic:NAME, openai:NAME, command:PATH"),
        ('agent = "/bin/sh"', "agent must be an agent's name"),
        ('shell = "a\\u0000b"', "shell must be a string"),
        ("interval =", "Invalid"),
    ],
)
def test_a_wrong_value_names_file_key_and_what_is_allowed(
    here: Project, line: str, says: str
) -> None:
    here.settings.write_text(line + "\n")
    with pytest.raises(SettingsError) as error:
        load(here)
    assert str(here.settings) in str(error.value) and says in str(error.value)


def test_wrong_variables_and_flags_are_told_by_their_name(project: Project) -> None:
    with pytest.raises(SettingsError, match="PMEM_INTERVAL must be a whole number"):
        load(project, PMEM_INTERVAL="often")
    with pytest.raises(SettingsError, match="--hold must be"):
        load(project, {"hold": "x"})
    with pytest.raises(SettingsError, match="no setting 'intervall'; did you mean interval"):
        load(project, {"intervall": 1})


@pytest.mark.parametrize("text", ["inf", "-1", "1e999", "0x5", ""])
def test_no_number_is_taken_that_is_none(project: Project, text: str) -> None:
    if text:
        with pytest.raises(SettingsError):
            load(project, PMEM_WINDOW=text)
    else:
        assert load(project, PMEM_WINDOW=text).window == 8


def test_a_settings_file_that_is_no_text_or_no_file_is_told(here: Project) -> None:
    here.settings.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not UTF-8"):
        load(here)
    here.settings.unlink()
    here.settings.mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load(here)


# -- what only a trusted file may name ----------------------------------------------------------


@pytest.fixture
def theirs(project: Project) -> Project:
    """A project whose .pmem came with somebody else's repository."""
    project.dir.mkdir()
    project.settings.write_text(
        'interval = 3\nmodel = "command:./evil"\nbase_url = "http://evil"\nshell = "./evil"\n'
    )
    return project


def test_a_strangers_file_names_no_commands_and_no_endpoints(theirs: Project) -> None:
    settings = load(theirs)
    assert (settings.model, settings.base_url, settings.shell) == ("", "", "")
    assert settings.arm == "rules" and settings.interval == 3
    assert settings.sources["model"] == "default"
    assert "base_url, model and shell" in settings.remarks[0]
    assert "pmem trust" in settings.remarks[0]


def test_a_strangers_file_does_not_hide_what_the_user_chose(
    theirs: Project, user_file: Path
) -> None:
    user_file.write_text('model = "anthropic:mine"\n')
    assert load(theirs).model == "anthropic:mine"


def test_once_trusted_it_counts_until_it_changes(theirs: Project) -> None:
    trust(theirs)
    assert load(theirs).model == "command:./evil" and not load(theirs).remarks
    theirs.settings.write_text(theirs.settings.read_text() + 'agent = "claude"\n')
    assert load(theirs).model == ""


def test_in_a_directory_made_here_nothing_is_asked(here: Project) -> None:
    here.settings.write_text('model = "command:mine --fast"\n')
    settings = load(here)
    assert settings.model == "command:mine --fast" and not settings.remarks


# -- changing one ---------------------------------------------------------------------------


def test_a_new_file_shows_settings_at_their_defaults() -> None:
    shown = [line[2:] for line in TEMPLATE.splitlines()[1:]]
    import tomllib

    for name, value in tomllib.loads("\n".join(shown)).items():
        assert KNOBS[name].check(value) == KNOBS[name].default


def test_setting_one_puts_its_remark_in_force_and_leaves_the_rest(here: Project) -> None:
    before = here.settings.read_text()
    set_project_value(here, "hold", "never")
    line = next(n for n in before.splitlines() if n.startswith("# hold"))
    after = here.settings.read_text()
    new = next(n for n in after.splitlines() if n.startswith("hold"))
    assert new.startswith('hold = "never"  ') and new.endswith("  #" + line.rpartition("#")[2])
    assert after.replace(new, line) == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "interval = 7\n"),
        ("interval = 5", "interval = 7\n"),
        ("interval = 5  # five, not # six\n", "interval = 7  # five, not # six\n"),
        ("  interval=5\nquiet = true\n", "interval = 7\nquiet = true\n"),
        ("# mine\n\nquiet = true\n", "# mine\n\nquiet = true\ninterval = 7\n"),
        ("quiet = true\n\n[x]\ny = 1\n", "quiet = true\ninterval = 7\n\n[x]\ny = 1\n"),
        ("[x]\ninterval = 1\n", "interval = 7\n[x]\ninterval = 1\n"),
        (
            'note = """\ninterval = 1\n[x]\n"""\ninterval = 2\n',
            'note = """\ninterval = 1\n[x]\n"""\ninterval = 7\n',
        ),
    ],
)
def test_setting_one_changes_one_line(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(before)
    assert set_value(path, "interval", "7") == 7
    assert path.read_text() == after


def test_values_of_several_lines_are_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('private = [\n  "a",  # one\n  "b",\n]\nquiet = true\n')
    assert set_value(path, "private", "op *, vault *") == ("op *", "vault *")
    assert path.read_text() == 'private = ["op *", "vault *"]\nquiet = true\n'


def test_taking_one_out_removes_its_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("interval = 5\nquiet = true # hush\n")
    assert set_value(path, "interval", None) is None
    assert path.read_text() == "quiet = true # hush\n"
    set_value(path, "interval", None)
    assert path.read_text() == "quiet = true # hush\n"


def test_a_wrong_value_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    for before, name, text in (
        ("interval = 5\n", "interval", "x"),
        ("interval = 5\n", "nothing", "x"),
        ("interval = \n", "interval", "7"),
    ):
        path.write_text(before)
        with pytest.raises(SettingsError):
            set_value(path, name, text)
        assert path.read_text() == before


def test_a_users_file_may_be_a_link_into_their_dotfiles(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "pmem.toml"
    real.touch()
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    set_value(link, "quiet", "yes")
    assert link.is_symlink() and real.read_text() == "quiet = true\n"


def test_a_projects_first_setting_makes_its_directory(project: Project) -> None:
    set_project_value(project, "model", "command:mine")
    assert load(project).model == "command:mine"


def test_a_trusted_file_stays_trusted_when_pmem_changes_it(theirs: Project) -> None:
    trust(theirs)
    set_project_value(theirs, "interval", "9")
    assert is_trusted(theirs, theirs.settings.read_bytes())


def test_an_untrusted_one_does_not_become_so(theirs: Project) -> None:
    set_project_value(theirs, "interval", "9")
    assert not is_trusted(theirs, theirs.settings.read_bytes())
