"""What the tests run inside a pty: the relay, with the link on an inherited descriptor.

host.py [--link FD] [--nonce NONCE] [--shell NAME --dir DIR] [--record FILE] [-- ARGV…]
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path

from pmem.terminal.link import Link
from pmem.terminal.relay import run_in_pty
from pmem.terminal.shell import shell_command


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--link", type=int)
    parser.add_argument("--nonce")
    parser.add_argument("--shell")
    parser.add_argument("--login", action="store_true")
    parser.add_argument("--dir", type=Path)
    parser.add_argument("argv", nargs="*")
    args = parser.parse_args()
    env = dict(os.environ)
    argv = args.argv
    if args.shell:
        argv, more = shell_command(args.shell, os.environ, args.dir, args.nonce, login=args.login)
        env |= more
    link = None if args.link is None else Link(socket.socket(fileno=args.link))
    return run_in_pty(argv, env, None, link=link, nonce=args.nonce)


if __name__ == "__main__":
    sys.exit(main())
