"""What each command did so far in one trajectory."""

from __future__ import annotations

from pmem.core import history
from pmem.core.effect import Effect
from pmem.core.history import History
from pmem.core.step import Action, Step

NUMBER = iter(range(1, 10**6))


def step(action: str, observation: str = "", code: int | None = 0, **more: object) -> Step:
    fields: dict[str, object] = {"kind": "command", "cwd": "/proj", **more}
    kind = str(fields.pop("kind"))
    number = next(NUMBER)
    return Step(number, kind, action, observation, exit_code=code, **fields)  # type: ignore[arg-type]


def run(command: str, cwd: str = "/proj") -> Action:
    return Action("command", command, cwd)


def test_a_step_is_judged_once_and_remembered() -> None:
    seen = History()
    facts = seen.observe(step("npm test", "Error: no db\n", 1, started=100.0, seconds=2.5))
    assert (facts.normal, facts.cwd, facts.kind) == ("npm test", "/proj", "command")
    assert (facts.failed, facts.failure, facts.exit_code) == (True, "Error: no db", 1)
    assert (facts.effect, facts.ended) == (Effect.UNKNOWN, 102.5)
    assert list(seen.facts) == [facts]
    assert seen.attempts(run("npm test")) == (facts,)


def test_attempts_are_found_however_the_command_is_typed() -> None:
    seen = History()
    seen.observe(step("cd api && npm  test 2>&1 | tail -20"))
    seen.observe(step("npm test", cwd="/proj/api"))
    seen.observe(step("npm test"))
    assert len(seen.attempts(run("npm test", "/proj/api"))) == 2
    assert len(seen.attempts(run("(cd api; time npm test)"))) == 2
    assert len(seen.attempts(run("npm test"))) == 1
    assert seen.attempts(run("npm test -- -u")) == ()
    assert seen.attempts(Action("edit", "npm test", "/proj")) == ()


def test_facts_can_be_asked_for_again_by_what_they_say() -> None:
    seen = History()
    facts = seen.observe(step("cd api && python - <<EOF\nprint(1)\nEOF"))
    assert seen.attempts(Action("command", facts.normal, facts.cwd)) == (facts,)


def test_without_a_directory_a_command_is_known_by_its_own() -> None:
    seen = History()
    assert seen.observe(step("cd api && npm test", cwd=None)).cwd == "api"
    assert len(seen.attempts(Action("command", "cd api; npm test"))) == 1


def test_changes_are_counted_as_they_happen() -> None:
    seen = History()
    counted = [
        seen.observe(each).change
        for each in (
            step("ls"),
            step("npm test", code=1),
            step("Edit a.py", kind="edit", code=None),
            step("rm x"),
            step("cat a.py", kind="read", code=None),
            step("echo x > a"),
        )
    ]
    assert counted == [0, 0, 1, 2, 2, 3]


def test_what_did_not_happen_changes_nothing() -> None:
    seen = History()
    seen.observe(step("Edit a.py", "String to replace not found", None, kind="edit", is_error=True))
    seen.observe(
        step("Edit a.py", "The user doesn't want to proceed", None, kind="edit", is_error=True)
    )
    seen.observe(step("rm -rf build", refused=True))
    seen.observe(step("pip install nosuch", "ERROR: No matching distribution found", 1))
    assert seen.changes == 0


def test_of_a_failed_line_the_first_part_may_have_changed_something() -> None:
    seen = History()
    seen.observe(step("echo x > a && false", "", 1))
    assert seen.changes == 1


def test_only_successes_of_unknown_effect_are_counted_as_unknown() -> None:
    seen = History()
    seen.observe(step("make", "make: *** [all] Error 1", 2))
    seen.observe(step("./setup.sh"))
    seen.observe(step("ls"))
    seen.observe(step("./deploy.sh", refused=True))
    assert seen.unknown == 1


def test_a_refused_command_is_no_attempt() -> None:
    seen = History()
    seen.observe(step("make", refused=True))
    seen.observe(step("make", "The user doesn't want to proceed with this", None, is_error=True))
    assert seen.attempts(run("make")) == ()


def test_at_most_eight_runs_are_kept_the_latest() -> None:
    seen = History()
    facts = [seen.observe(step("make", str(n), 1)) for n in range(11)]
    assert seen.attempts(run("make")) == tuple(facts[-8:])


def test_two_runs_with_one_outcome_have_one_fingerprint() -> None:
    seen = History()
    one = seen.observe(step("make", "a.c:3: error: x (0.21s)", 2))
    two = seen.observe(step("make", "a.c:3: error: x (1.90s)", 2))
    three = seen.observe(step("make", "a.c:4: error: x (1.90s)", 2))
    assert one.fingerprint == two.fingerprint != three.fingerprint


def test_a_week_long_session_stays_bounded(monkeypatch) -> None:
    monkeypatch.setattr(history, "MAX_COMMANDS", 50)
    seen = History()
    for n in range(600):
        seen.observe(step(f"make target{n}"))
        seen.observe(step("make all"))
    assert len(seen.facts) == history.MAX_FACTS
    assert len(seen._by_command) == 50
    assert seen.attempts(run("make all")) and seen.attempts(run("make target599"))
    assert seen.attempts(run("make target0")) == ()


def test_a_long_action_is_kept_by_its_beginning_only() -> None:
    seen = History()
    assert len(seen.observe(step("x" * 10**6, kind="edit", code=None)).normal) <= 400
    assert len(seen.observe(step("echo " + "y" * 10**6)).normal) <= 1000


def test_an_empty_command_is_a_step_but_no_attempt() -> None:
    seen = History()
    seen.observe(step("", "still running", None))
    assert seen.attempts(run("")) == ()
    assert len(seen.facts) == 1
