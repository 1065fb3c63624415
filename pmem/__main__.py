"""`python -m pmem` is the command `pmem`."""

from pmem.cli.main import main

if __name__ == "__main__":
    main()
