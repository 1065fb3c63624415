"""An agent by the model proxy: its knob is turned, and the proxy's process starts beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pmem.cli.exits import Exit, Trouble

if TYPE_CHECKING:
    from pmem.cli.environment import Environment
    from pmem.cli.options import StartOptions
    from pmem.cli.start import Program
    from pmem.proxy.start import Doors, Open


class Wish(NamedTuple):
    """What was asked of the proxy: its port (0: any), the one service behind it ("": each
    program's own), and whether a reminder stands in one request only."""

    port: int = 0
    upstream: str = ""
    transient: bool = False


def by_proxy(
    environment: Environment,
    command: Sequence[str],
    agent: str,
    options: StartOptions,
    patience: float = 0.0,
    wish: Wish | None = None,
) -> Program:
    """A program whose model is reached through the proxy.

    Raises Trouble (125) if the proxy was asked for and what it needs is not installed. An agent
    that has no other way then runs as it is, and the start line says what to install.
    """
    from pmem.agents import registry
    from pmem.agents.proxied import Proxied
    from pmem.cli.launch import unknown_program
    from pmem.cli.start import Line, Program
    from pmem.proxy.start import missing

    name = os.path.basename(command[0])  # noqa: PTH119
    asked = wish is not None or options.via is not None
    known = registry.get(agent)
    if isinstance(known, Proxied) and known.only_asks(command[1:]):
        return unknown_program(command)._replace(prepare=lambda run_dir, nonce: Line(command))
    if trouble := missing():
        if asked:
            raise Trouble(trouble, code=Exit.OURS)
        mute = Line(command, remark=f"{name} tells pmem nothing: {trouble}")
        return Program(command, agent, lambda run_dir, nonce: mute, tells=False)
    wish = wish or Wish()
    opening = Opening(environment, options, wish, patience)
    if wish.port:
        opening.doors()

    def prepare(run_dir: Path, nonce: str) -> Line:
        from pmem.agents.base_urls import through
        from pmem.hook.line import HOOKED
        from pmem.proxy.start import reaching_this_machine

        doors = opening.doors()

        def door(service: str) -> str:
            return doors.door(wish.upstream or service)

        env, cwd = environment.env, environment.cwd
        made = through(agent, command[0], command[1:], env, cwd, run_dir, door)
        led = as_clients_want(made.env) if wish.upstream else made.env
        title = name if agent == "generic" else agent
        remark = f"{title} asks its model through 127.0.0.1:{doors.port}"
        if agent == "generic":
            knobs = [knob for knob in made.env if knob.endswith("_BASE_URL")]
            remark += f" ({', '.join(knobs)})"
        return Line(
            made.argv,
            {**led, **reaching_this_machine(env), HOOKED: agent},
            remark,
            opening.close,
            opening.open,
        )

    return Program(command, name if agent == "generic" else agent, prepare, patience=patience)


def as_clients_want(led: Mapping[str, str]) -> dict[str, str]:
    """Variables with one service's address for all: Anthropic's clients add `/v1` themselves."""
    return {
        name: address.removesuffix("/v1") if name.startswith("ANTHROPIC_") else address
        for name, address in led.items()
    }


class Opening:
    """The proxy's doors until it serves them, then its process until it is closed."""

    def __init__(
        self, environment: Environment, options: StartOptions, wish: Wish, patience: float = 0.0
    ) -> None:
        self._environment, self._options, self._wish = environment, options, wish
        self._seconds = patience or 0.5
        self._doors: Doors | None = None
        self._open: Open | None = None

    def doors(self) -> Doors:
        """The doors. Raises Trouble (125) where the port that was asked for is taken."""
        from pmem.proxy.start import Doors

        if self._doors is None:
            port = self._wish.port
            try:
                self._doors = Doors(port)
            except OSError as error:
                reason = error.strerror or str(error)
                raise Trouble(
                    f"port {port} of this machine cannot be listened at: {reason}",
                    "choose another with --port, or none",
                ) from None
        return self._doors

    def open(self, reach: Mapping[str, str]) -> None:
        """Let the proxy serve; `reach` is how it finds the session."""
        from pmem.cli.project import project_of

        project = project_of(self._environment, self._options.directory, code=Exit.OURS)
        self._open = self.doors().open(
            reach,
            cwd=os.fspath(self._environment.cwd),
            errors=os.fspath(project.state / "errors.log"),
            seconds=self._seconds,
            transient=self._wish.transient,
        )

    def close(self) -> None:
        """End the proxy."""
        if self._open is not None:
            self._open.close()
