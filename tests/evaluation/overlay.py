"""A Harbor environment without Docker: this machine's files under a layer that is thrown away.

Linux, as root. Processes live in namespaces of mounts and of processes, and end with them; the
network is this machine's. Harbor imports it by `--env overlay:Overlay`.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult

#: Ends with Harbor, however that ends.
HOLD = (
    *("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private"),
    *("--pid", "--fork", "--kill-child", "sh", str(Path(__file__).with_name("overlay.sh"))),
)
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Overlay(BaseEnvironment):
    """`shown` are directories, joined by commas, that are to be seen inside; the files of the
    directory `image` lie over those of this machine."""

    def __init__(self, *args: Any, shown: str = "", image: str = "", **kwargs: Any) -> None:
        self._shown = [path for path in shown.split(",") if path]
        self._image = image
        self._inside = "none"  # the first process inside, by its number out here
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        return "overlay"

    def _validate_definition(self) -> None:
        pass

    async def start(self, force_build: bool) -> None:
        self._root = self.trial_paths.trial_dir.resolve() / "root"
        self._root.mkdir()
        self._held = await asyncio.create_subprocess_exec(
            *HOLD,
            *(str(self._root), *self._shown),
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._held.stdout is not None
        if await self._held.stdout.readline() != b"ready\n":
            raise RuntimeError("no layered root could be made")
        own = Path(f"/proc/{self._held.pid}/task/{self._held.pid}/children")
        self._inside = own.read_text().split()[0]
        for files in (self.environment_dir / "files", Path(self._image or "/nonexistent")):
            if files.is_dir():
                await self.upload_dir(files, "/")

    async def stop(self, delete: bool) -> None:
        if self._held.returncode is None:
            self._held.kill()
            await self._held.wait()
        if self._root.is_dir():
            self._root.rmdir()

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        told = {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", **(self._merge_env(env) or {})}
        ran = await asyncio.create_subprocess_exec(
            *("nsenter", "--target", self._inside, "--mount", "--pid", "--root"),
            *("env", "-C", cwd or "/app", "-i", *(f"{k}={v}" for k, v in told.items())),
            *("timeout", "--kill-after", "1", str(timeout_sec or 0), "bash", "-c", command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await ran.communicate()
        return ExecResult(
            stdout=out.decode(errors="replace"),
            stderr=err.decode(errors="replace"),
            return_code=ran.returncode or 0,
        )

    def _seen(self, path: str) -> Path:
        return Path(f"/proc/{self._inside}/root{path}")

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        self._seen(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self._seen(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._seen(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._seen(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._seen(source_dir), target_dir, dirs_exist_ok=True)
