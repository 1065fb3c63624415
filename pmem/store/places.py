"""Where pmem keeps what belongs to the user: configuration and state, by the XDG variables.

The variables count on macOS as well; without them the places are the same on every system.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from pmem.store import files


def home(env: Mapping[str, str]) -> Path | None:
    """The user's home: HOME, else what the system's user list says; None if it is no directory."""
    named = env.get("HOME", "")
    if not named:
        import pwd

        try:
            named = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            return None
    path = Path(named)
    return path if path.is_absolute() and files.is_dir(path) else None


def config_file(env: Mapping[str, str]) -> Path | None:
    """The user's own settings file, whether it exists or not; None without a home."""
    base = _base(env, "XDG_CONFIG_HOME", ".config")
    return None if base is None else base / "pmem" / "config.toml"


def beside_config(env: Mapping[str, str], name: str) -> Path | None:
    """A file or folder of the user's beside that settings file; None without a home."""
    own = config_file(env)
    return None if own is None else own.with_name(name)


def state_home(env: Mapping[str, str]) -> tuple[Path, str]:
    """The directory of logs and copies, and a remark for the user ("" if all is as it should be).

    Without a home it lies in the temporary directory, which a restart may empty.
    """
    base = _base(env, "XDG_STATE_HOME", ".local/state")
    if base is not None:
        return base / "pmem", ""
    place = _temporary(env)
    return place, f"there is no home directory; session logs are kept in {place}"


def _base(env: Mapping[str, str], variable: str, default: str) -> Path | None:
    named = Path(env.get(variable, ""))
    if named.is_absolute():  # the XDG specification tells to ignore relative ones
        return named
    own = home(env)
    return None if own is None else own / default


def _temporary(env: Mapping[str, str]) -> Path:
    """A directory under the temporary one that is ours alone."""
    place = Path(env.get("TMPDIR") or "/tmp") / f"pmem-{os.getuid()}"
    try:
        place.mkdir(0o700)
    except FileExistsError:
        info = place.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
            import tempfile

            return Path(tempfile.mkdtemp(prefix="pmem-")) / "state"
    except OSError:
        pass  # told when something is to be written there
    return place / "state"
