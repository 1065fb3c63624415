"""`python -m pmem.proxy`: the proxy process, started by `pmem`."""

from pmem.proxy.process import main

main()
