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
        "Open: `make` fails since step 2 (cc: error: x)\n"
        "Risks: `make` failed 2 times alike"
    )


def test_an_unchanged_status_is_not_written_again() -> None:
    scene = Scene("t").ran("ls", "a\n")
    before = scene.bank.status
    assert not [op for op in scene.rules.manage(scene.moment(_interval())) if op]
    assert scene.bank.status == before


def _interval():  # type: ignore[no-untyped-def]
    from pmem.core.decision import Trigger

    return Trigger.INTERVAL
