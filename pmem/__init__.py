"""pmem: a proactive memory for terminal coding agents.

Nothing is imported here, so that `pmem` starts as fast as click and pexpect allow;
the library's names are resolved on first use.
"""

__version__ = "0.1.0"
