"""What helped before is told when the same failure is back."""

from __future__ import annotations

from scene import PROJECT, Scene, silent, spoken

from pmem.core.decision import Trigger

MISSING = "Error: Cannot find module '../dist/db.js'\n"


def cured() -> Scene:
    """`npm test` fails, `npm run build` passes, `npm test` passes."""
    return (
        Scene()
        .ran("npm test", MISSING, 1)
        .ran("ls", "src\n")
        .ran("npm run build", "built\n")
        .ran("npm test", "12 passing\n")
    )


def test_the_remedy_becomes_an_entry_a_person_can_read() -> None:
    entry = cured().bank.get("remedy-npm-test")
    assert entry is not None
    assert entry.content == (
        "`npm test` failed (“Error: Cannot find module '../dist/db.js'”),"
        " then passed after `npm run build` (steps 1, 3, 4)."
    )
    assert entry.outcome == "diagnosis"


def test_the_same_failure_again_in_the_session_brings_it_up() -> None:
    scene = cured().ran("rm -rf dist").ran("npm test", MISSING, 1)
    said = spoken(scene.after(Trigger.FAILURE), scene)
    assert "passed at step 4 after `npm run build`" in said.text
    assert not said.sure


def test_another_failure_does_not() -> None:
    scene = cured().edited().ran("npm test", "AssertionError: 1 != 2\n", 1)
    assert silent(scene.after(Trigger.FAILURE))


def test_the_next_session_is_told_with_its_age() -> None:
    bank = cured().bank
    scene = Scene(bank=bank, session="20261207-090000-test").ran("npm test", MISSING, 1)
    said = spoken(scene.after(Trigger.FAILURE), scene)
    assert "In an earlier session (2026-12-01)" in said.text and "`npm run build`" in said.text
    assert not said.sure
    said = spoken(scene.ran("ls", "src\n").proposes("npm test"), scene)
    assert "`npm run build`" in said.text


def test_once_the_remedy_was_applied_there_is_nothing_to_say() -> None:
    scene = Scene(bank=cured().bank, session="20261207-090000-test").ran("npm test", MISSING, 1)
    assert silent(scene.ran("npm run build", "built\n").proposes("npm test"))


def test_an_edit_in_between_may_have_been_the_cure() -> None:
    scene = (
        Scene()
        .ran("npm test", MISSING, 1)
        .edited()
        .ran("npm run build", "built\n")
        .ran("npm test", "12 passing\n")
    )
    assert scene.bank.get("remedy-npm-test") is None


def test_of_two_changes_nobody_knows_which_it_was() -> None:
    scene = (
        Scene()
        .ran("npm test", MISSING, 1)
        .ran("npm install left-pad", "added 1\n")
        .ran("mkdir -p dist")
        .ran("npm test", "12 passing\n")
    )
    assert scene.bank.get("remedy-npm-test") is None


def test_the_form_that_worked_is_told_before_the_wrong_one_runs_again() -> None:
    scene = (
        Scene()
        .ran("cargo deny check", "error: no such command: `deny`\n", 101)
        .ran("mise exec -- cargo deny check", "advisories ok\n")
    )
    said = spoken(scene.proposes("cargo deny check"), scene)
    assert "failed at step 1" in said.text
    assert "`mise exec -- cargo deny check` passed at step 2" in said.text
    assert len(said.entries) == 2


def test_the_directory_in_which_it_works_is_a_form_too() -> None:
    scene = (
        Scene()
        .ran("npm run dev", 'npm error Missing script: "dev"\n', 1)
        .ran("npm run dev", "ready\n", cwd=f"{PROJECT}/web")
    )
    assert "in web/" in spoken(scene.proposes("npm run dev"), scene).text


def test_a_narrower_test_run_is_no_remedy_for_a_failing_suite() -> None:
    scene = (
        Scene()
        .ran("pytest", "FAILED tests/test_a.py::test_a - AssertionError\n", 1)
        .ran("pytest tests/test_b.py", "1 passed\n")
    )
    assert silent(scene.proposes("pytest"))


def test_after_an_installation_the_old_form_may_work() -> None:
    scene = (
        Scene()
        .ran("python report.py", "bash: python: command not found\n", 127)
        .ran("python3 report.py", "42 rows\n")
        .ran("apt-get install -y python-is-python3", "Setting up\n")
    )
    assert silent(scene.proposes("python report.py"))
