"""With which examples a property is tried: ordinarily the same at each run, on any machine.

`PMEM_FUZZ=N` in the environment makes N times as many of each, and other ones at each run.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

#: Read at import: a fixture clears such variables for the tests.
TIMES = int(os.environ.get("PMEM_FUZZ") or 0)

settings.register_profile(
    "pmem",
    derandomize=not TIMES,
    print_blob=bool(TIMES),
    max_examples=100 * (TIMES or 1),
    # Neither what an earlier run found nor how fast the machine is may decide.
    database=None,
    deadline=None,
    suppress_health_check=(
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
    ),
)
settings.load_profile("pmem")


def examples(number: int) -> settings:
    """A decorator: so many examples instead of hypothesis' hundred."""
    return settings(max_examples=number * (TIMES or 1))
