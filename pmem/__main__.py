"""`python -m pmem` is the command `pmem`."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn


def main() -> NoReturn:
    """The entry point. `pmem init SHELL` is read at every start of a shell, so it loads nothing."""
    if len(sys.argv) == 3 and sys.argv[1] == "init":
        from pmem.terminal.shell_files import SHELLS, definitions

        if sys.argv[2] in SHELLS:
            try:
                sys.stdout.write(definitions(sys.argv[2]))
                sys.stdout.flush()
            except OSError as error:
                sys.exit(f"pmem: {error}")
            sys.exit(0)
    gc.set_threshold(50_000)  # loading leaves no garbage; looking for it often would be felt
    from pmem.cli.main import main

    main()


if __name__ == "__main__":
    main()
