"""What is trained once and looked at by several tests."""

from __future__ import annotations

import pytest
from trained import STEPS, Place, prepare


@pytest.fixture(scope="session")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Rows and a random model."""
    return prepare(tmp_path_factory.mktemp("training"))


@pytest.fixture(scope="session")
def tuned(untrained: Place) -> Place:
    """The same, and `tuned`: the model after SFT; `tuned.txt` is what was printed then."""
    done = untrained.pmem(*untrained.sft("tuned", "--steps", str(STEPS)), training=True)
    assert done.returncode == 0, done.stderr[-2000:]
    (untrained / "tuned.txt").write_text(done.stdout)
    return untrained
