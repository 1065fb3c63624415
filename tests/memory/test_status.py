"""The status tells where the work stands, in a few lines, to the memory agent alone."""

from __future__ import annotations

from scene import Scene


def test_progress_open_ends_and_risks() -> None:
    scene = (
        Scene("Make the build pass")
        .ran("make", "cc: error: x\n", 2)
        .ran("make", "cc: error: x\n", 2)
        .ran("npm test", "ok\n")
    )
    assert scene.bank.status == (
        "Task: Make the build pass\n"
        "Progress: step 3; `npm test` passed at step 3\n"
        "Open: `make` fails since step 1 (cc: error: x)\n"
        "Risks: `make` failed 2 times alike"
    )


def test_a_failure_is_open_since_the_first_of_the_present_row() -> None:
    scene = Scene("t").ran("make", "cc: error: x\n", 2).ran("make", "ok\n")
    scene.ran("make", "cc: error: y\n", 2).edited().ran("make", "cc: error: z\n", 2)
    assert "`make` fails since step 3 (cc: error: z)" in scene.bank.status
    scene.ran("make", "ok\n")
    assert "fails" not in scene.bank.status


def test_progress_is_the_newest_finished_work() -> None:
    scene = Scene("t").ran("npm test", "ok\n").ran("make", "ok\n").ran("npm test", "ok\n")
    assert "Progress: step 3; `npm test` passed at step 3" in scene.bank.status
    scene.edited("src/app.js").ran("ls", "src\n")
    assert "Progress: step 5; `src/app.js` edited at step 4" in scene.bank.status
    scene.ran("make", "cc: error: x\n", 2)
    assert "Progress: step 6; `src/app.js` edited at step 4" in scene.bank.status


def test_a_look_at_pmem_is_no_work() -> None:
    scene = Scene("t").ran("npm test", "ok\n").ran("pmem status", "…\n")
    scene.ran("pmem show nothing", "pmem: there is no entry nothing\n", 1)
    assert scene.bank.status == "Task: t\nProgress: step 1; `npm test` passed at step 1"
    scene.ran("pmem status && make", "ok\n")
    assert "Progress: step 4" in scene.bank.status


def test_before_any_work_nothing_is_done() -> None:
    scene = Scene("t").ran("pmem status", "…\n").said("빌드를 고쳐 주세요")
    assert scene.bank.status == "Task: t\nProgress: nothing done yet"


def test_an_unchanged_status_is_not_written_again() -> None:
    scene = Scene("t").ran("ls", "a\n")
    before = scene.bank.status
    assert not [op for op in scene.rules.manage(scene.moment(_interval())) if op]
    assert scene.bank.status == before


def _interval():  # type: ignore[no-untyped-def]
    from pmem.core.decision import Trigger

    return Trigger.INTERVAL
