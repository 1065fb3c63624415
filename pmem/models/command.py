"""Any program as the model: the prompt as UTF-8 on its stdin, the answer on its stdout.

`PMEM_PHASE` in its environment is `manage` or `decide`. It runs with PMEM=off, in an empty
private directory, one at a time. `claude-code` and `codex` are presets for people with a
subscription and no key: the same programs that are reminded, here without hooks and tools.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pmem.core import json_text
from pmem.models.protocol import ModelError, Reply, Request, ToolCall, Trouble, Usage

#: An answer longer than this (bytes) is none.
MAX_ANSWER = 4 * 1024 * 1024
#: Settings of Claude Code under which no hook of the user's runs.
_NO_HOOKS = '{"disableAllHooks": true}'

PRESETS: Mapping[str, Sequence[str]] = {
    "claude-code": (
        *("claude", "-p", "--output-format", "json", "--tools", "", "--settings", _NO_HOOKS),
        *("--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands"),
        "--no-session-persistence",
    ),
    "codex": (
        *("codex", "exec", "--sandbox", "read-only", "--skip-git-repo-check", "--ephemeral"),
        *("--ignore-user-config", "--ignore-rules", "--color", "never", "-"),
    ),
}
#: Variables by which an agent tells its children what runs around them.
_FORGOTTEN = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "PMEM_SOCK", "PMEM_TOKEN", "PMEM_ACTIVE")
_ONE_AT_A_TIME = threading.Lock()


class CommandModel:
    """A program that reads a prompt and writes an answer; it has no tools but text."""

    native_tools = False

    def __init__(self, command: str, env: Mapping[str, str]) -> None:
        """`command` is a preset's name, or a program with arguments as a shell would split them.

        Raises ValueError if it cannot be split or names nothing.
        """
        self.name = f"command:{command}"
        words = [os.path.expanduser(w) for w in shlex.split(command)]  # noqa: PTH111
        if not words:
            raise ValueError(
                "command: needs a program, as in command:claude-code or command:./m.sh"
            )
        preset = PRESETS.get(words[0])
        self._json = words[0] == "claude-code"
        self.argv = [*preset, *words[1:]] if preset else words
        if preset and words[0] == "codex":  # its `-` for stdin stands last
            self.argv = [*preset[:-1], *words[1:], preset[-1]]
        self._env = {k: v for k, v in env.items() if k not in _FORGOTTEN}
        self._running: subprocess.Popen[bytes] | None = None
        self._closed = False

    def ask(self, request: Request) -> Reply:
        """Run the program once. Raises ModelError if it is not there, fails, or takes too long."""
        end = time.monotonic() + request.timeout
        if not _ONE_AT_A_TIME.acquire(timeout=request.timeout):
            raise ModelError(Trouble.TIME, f"{self.name} was still busy with another question")
        directory = tempfile.mkdtemp(prefix="pmem-model-")
        try:
            code, out, err = self._run(rendered(request), request, directory, end)
        finally:
            _ONE_AT_A_TIME.release()
            shutil.rmtree(directory, ignore_errors=True)
        if code != 0:
            said = " ".join((err or out).decode("utf-8", "replace").split())[-200:]
            raise ModelError(
                Trouble.REFUSED, f"{self.argv[0]} ended with {code}: {said or 'no word'}"
            )
        text = out.decode("utf-8", "replace")
        return claude_reply(text) if self._json else Reply(text)

    def close(self) -> None:
        """End the program if it runs."""
        self._closed = True
        running = self._running
        if running is not None:
            _kill(running)

    def _run(
        self, prompt: str, request: Request, directory: str, end: float
    ) -> tuple[int, bytes, bytes]:
        env = {**self._env, "PMEM": "off", "PMEM_PHASE": request.phase}
        program = self.argv[0] if os.sep not in self.argv[0] else str(Path(self.argv[0]).absolute())
        try:
            process = subprocess.Popen(
                [program, *self.argv[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=directory,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            raise ModelError(
                Trouble.SETUP, f"cannot run {self.argv[0]}: {error.strerror or error}"
            ) from None
        self._running = process
        try:
            if self._closed:
                raise subprocess.TimeoutExpired(program, 0)
            out, err = process.communicate(
                prompt.encode("utf-8", "replace"), timeout=max(0.1, end - time.monotonic())
            )
        except subprocess.TimeoutExpired:
            raise ModelError(
                Trouble.TIME, f"{self.argv[0]} did not answer in {request.timeout:g} s"
            ) from None
        finally:
            _kill(process)
            self._running = None
        if len(out) > MAX_ANSWER:
            raise ModelError(Trouble.REFUSED, f"{self.argv[0]} answered {len(out)} bytes")
        return process.returncode, out, err


def rendered(request: Request) -> str:
    """The conversation as one text: the system prompt, then each turn under its name."""
    parts = [request.system]
    for message in request.messages:
        texts = [f"<tool_response>\n{r.text}\n</tool_response>" for r in message.results]
        texts += [message.text] if message.text else []
        texts += [_written(call) for call in message.calls]
        head = "" if message.role == "user" else "[your answer before]\n"
        parts.append(head + "\n".join(texts))
    return "\n\n".join(parts) + "\n"


def _written(call: ToolCall) -> str:
    told = {"name": call.name, "arguments": dict(call.arguments)}
    return f"<tool_call>\n{json.dumps(told, ensure_ascii=False)}\n</tool_call>"


def claude_reply(text: str) -> Reply:
    """The reply in what `claude -p --output-format json` prints. Raises ModelError if it failed.

    A text that is not that object is taken as it is.
    """
    try:
        told = json_text.loads(text)
    except ValueError:
        return Reply(text)
    if not isinstance(told, dict) or "result" not in told:
        return Reply(text)
    if told.get("is_error"):
        raise ModelError(Trouble.REFUSED, f"claude says: {str(told['result'])[:200]}")
    usage = told.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    money = told.get("total_cost_usd")
    return Reply(
        str(told["result"]),
        usage=Usage(
            input=_number(usage.get("input_tokens")),
            output=_number(usage.get("output_tokens")),
            cache_read=_number(usage.get("cache_read_input_tokens")),
            cache_write=_number(usage.get("cache_creation_input_tokens")),
            money=float(money) if isinstance(money, int | float) else None,
        ),
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program and all it started."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
