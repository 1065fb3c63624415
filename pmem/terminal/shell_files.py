"""Where the files that shells read lie: in the wheel or in the checkout. Imports almost nothing."""

from __future__ import annotations

import os.path

#: The shells that pmem has files for.
SHELLS = ("bash", "zsh", "fish")


class Missing(OSError):
    """The installation has lost its shell files."""


def shell_files() -> str:
    """The directory of pmem.bash, init.bash and their like. Raises Missing."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    for directory in (f"{package}/shells", f"{os.path.dirname(package)}/shells"):  # noqa: PTH120
        if os.path.isfile(f"{directory}/pmem.bash"):  # noqa: PTH113
            return directory
    raise Missing("pmem's shell files are missing: install pmem again")


def definitions(shell: str) -> str:
    """What `pmem init SHELL` prints. Raises OSError."""
    with open(f"{shell_files()}/init.{shell}", encoding="utf-8") as file:  # noqa: PTH123
        return file.read()
