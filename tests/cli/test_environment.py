"""Environment: what a command may know of the process it runs in."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest

from pmem.cli.environment import Environment


def on_a_terminal(env: Mapping[str, str]) -> Environment:
    return Environment(
        io.StringIO(), io.StringIO(), io.StringIO(), env, stdout_isatty=True, stderr_isatty=False
    )


@pytest.mark.parametrize(
    ("env", "stdout", "stderr"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"CLICOLOR_FORCE": "1"}, True, True),
        ({"CLICOLOR": "0"}, False, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_colours_are_as_the_variables_say_and_else_as_the_stream_is(
    env: dict[str, str], stdout: bool, stderr: bool
) -> None:
    environment = on_a_terminal(env)
    assert environment.colour(environment.stdout) is stdout
    assert environment.colour(environment.stderr) is stderr


def test_a_line_is_as_wide_as_columns_says() -> None:
    assert on_a_terminal({"COLUMNS": "123"}).columns == 123


@pytest.mark.parametrize("nonsense", ["", "0", "-3", "wide"])
def test_a_senseless_columns_is_no_width(nonsense: str) -> None:
    assert on_a_terminal({"COLUMNS": nonsense}).columns > 0


def test_a_closed_stderr_stops_nothing() -> None:
    environment = on_a_terminal({})
    environment.stderr.close()
    environment.say("nobody hears this")
