"""pmem: a proactive memory for terminal coding agents.

Nothing is imported here, so that `pmem` starts as fast as click and pexpect allow;
the library's names are resolved on first use.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pmem.library import (
        MemoryBank,
        apply_memory_tool_calls,
        memory_agent_step,
        parse_intervention,
    )

__all__ = [
    "MemoryBank",
    "__version__",
    "apply_memory_tool_calls",
    "memory_agent_step",
    "parse_intervention",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'pmem' has no attribute {name!r}")
    from pmem import library

    return getattr(library, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
