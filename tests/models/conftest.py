"""An endpoint for a test, closed afterward."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from endpoint import Endpoint, Sent


@pytest.fixture
def answering() -> Iterator[Callable[..., Endpoint]]:
    """`answering(Sent(…), …)`: an endpoint that plays these answers."""
    made: list[Endpoint] = []

    def make(*answers: Sent) -> Endpoint:
        made.append(Endpoint(answers))
        return made[-1]

    yield make
    for endpoint in made:
        endpoint.close()
