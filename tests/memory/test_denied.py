"""The system refused a command on this very object before."""

from __future__ import annotations

from scene import Scene, silent, spoken

REFUSED = "bash: kill: (157) - Operation not permitted\n"


def test_the_same_object_with_other_options() -> None:
    scene = Scene().ran("kill 157", REFUSED, 1)
    said = spoken(scene.proposes("kill -HUP 157"), scene)
    assert said.text.startswith("`kill` on 157 was not permitted at step 1")


def test_another_object() -> None:
    assert silent(Scene().ran("kill 157", REFUSED, 1).proposes("kill 158"))


def test_with_more_rights_it_may_work() -> None:
    scene = Scene().ran("kill 157", REFUSED, 1)
    assert silent(scene.proposes("sudo kill 157"))
    scene = Scene().ran("cat /etc/x", "cat: /etc/x: Permission denied\n", 1)
    assert not silent(scene.proposes("cat /etc/x"))
    assert silent(scene.ran("sudo chmod o+r /etc/x").proposes("cat /etc/x"))


def test_localised() -> None:
    scene = Scene().ran("cat /etc/x", "cat: /etc/x: 허가 거부\n", 1)
    assert "/etc/x" in spoken(scene.proposes("cat /etc/x"), scene).text
