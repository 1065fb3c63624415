"""Looks up the advisories that are known for what is installed here: `audit.py [--strict]`.

pip-audit is put into an environment of its own, .venv/audit, and asks PyPI. What it says is told in
a line; an advisory, or packages that nobody could tell of, are an error under `--strict` only, as
before a release: news, and the network, are no fault of what is tested.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

PLACE = Path(__file__).resolve().parents[2] / ".venv" / "audit"
TOOL = PLACE / "bin" / "pip-audit"
#: How long the installation and the look-up may take, in seconds.
LONGEST = 180.0


class Unknown(Exception):
    """Nothing was audited; the message says why."""


def installed(seconds: float = LONGEST) -> Path:
    """The program, installed if it is not there. Raises Unknown."""
    if TOOL.exists():
        return TOOL
    # No setting of the user's may send it elsewhere, and nothing is left in HOME.
    unwanted = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV")
    env = {name: value for name, value in os.environ.items() if name not in unwanted}
    python = str(PLACE / "bin" / "python")
    with tempfile.TemporaryDirectory() as cache:
        env |= {"XDG_CACHE_HOME": cache, "PIP_USER": "0", "PIP_NO_CACHE_DIR": "1"}
        env |= {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        for command in (
            [sys.executable, "-I", "-m", "venv", "--clear", str(PLACE)],
            [python, "-I", "-m", "pip", "install", "-q", "pip-audit"],
        ):
            try:
                subprocess.run(command, check=True, env=env, timeout=seconds, capture_output=True)
            except (OSError, subprocess.SubprocessError) as error:
                raise Unknown(f"it cannot be installed: {_last_words(error)}") from None
    return TOOL


def looked_up(tool: Path, site: str, seconds: float = LONGEST) -> tuple[str, bool]:
    """What there is to say of the packages in `site`, and whether all are known to be good.

    Raises Unknown where none of them could be audited.
    """
    options = ["--skip-editable", "--progress-spinner", "off", "--timeout", "15", "--format=json"]
    with tempfile.TemporaryDirectory() as cache:
        command = [str(tool), "--path", site, *options, "--cache-dir", cache]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except (OSError, subprocess.SubprocessError) as error:
            raise Unknown(_last_words(error)) from None
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        raise Unknown(f"the advisories cannot be reached: {_last_line(done.stderr)}") from None
    untold = [one["name"] for one in packages if "skip_reason" in one]
    if len(untold) == len(packages):
        raise Unknown(f"the index here tells of none of the {len(packages)} packages")
    known = [
        f"{one['name']} {one['version']}: {advisory['id']}"
        for one in packages
        for advisory in one.get("vulns", ())
    ]
    told = [f"{len(packages) - len(untold)} of {len(packages)} packages were audited"]
    told += [f"not audited: {', '.join(untold)}"] if untold else []
    told += (
        ["advisories are known, see SECURITY.md:", *known] if known else ["no advisory is known"]
    )
    return "\n  ".join(told), not known and not untold


def _last_words(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer within {error.timeout:.0f} s"
    said = getattr(error, "stderr", None)
    return _last_line(said.decode("utf-8", "replace") if isinstance(said, bytes) else str(error))


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]


def main(arguments: Sequence[str]) -> int:
    """Say it; 1 where that is an error."""
    try:
        told, good = looked_up(installed(), sysconfig.get_path("purelib"))
    except Unknown as why:
        told, good = f"NOTHING WAS AUDITED: {why}", False
    print(f"pip-audit: {told}", file=sys.stderr)
    return int("--strict" in arguments and not good)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
