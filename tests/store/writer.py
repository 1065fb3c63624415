"""A process that writes to a bank as a session does; started by the tests, never imported.

`writer.py ROOT NAME COUNT COMMANDS`: COUNT attempts spread over so many commands, a flush now and
then. With COUNT 0 it writes until it is killed.
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

from pmem.core.bank import RecordAttempt
from pmem.store.bank_file import BankFile
from pmem.store.project import find_project


def main() -> None:
    root, name, count, commands = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    bank_file = BankFile(find_project(Path(root), os.environ))
    print("ready", flush=True)
    sys.stdin.readline()
    for n in itertools.count(1):
        if count and n > count:
            break
        bank_file.apply(
            [
                RecordAttempt(
                    command=f"make {name if n % 2 else 'both'}-{n % commands}",
                    cwd="",
                    failed=n % 3 == 0,
                    exit_code=2 if n % 3 == 0 else 0,
                    failure="no rule" if n % 3 == 0 else "",
                    output=f"line {n} of {name}\n" * 3,
                    step=n,
                    session=name,
                )
            ]
        )
        if n % 5 == 0:
            bank_file.flush()
    if not bank_file.close():
        sys.exit(f"not saved: {bank_file.problem}")
    if bank_file.notes:
        sys.exit(f"unexpected notes: {bank_file.notes}")


main()
