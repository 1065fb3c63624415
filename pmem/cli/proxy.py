"""`pmem proxy`: memory for any program that asks a model over HTTP."""

from __future__ import annotations

import os
import signal
import socket
from typing import TYPE_CHECKING, Any

import click

from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import StartOptions, start_options, start_options_given

if TYPE_CHECKING:
    from pmem.cli.environment import Environment
    from pmem.cli.proxied import Opening, Wish
    from pmem.terminal.link import Link

#: What a program is told by, where each leads, and the place in the address.
KNOBS = (
    ("ANTHROPIC_BASE_URL", "anthropic"),
    ("OPENAI_BASE_URL", "openai"),
    ("GOOGLE_GEMINI_BASE_URL", "gemini"),
)


@click.command(
    short_help="Reach a program, or serve any, by its model's traffic.",
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS] [--]",
    epilog="""\b
Examples:
  pmem proxy -- aider --model openai/gpt-5
  pmem proxy --upstream https://models.example.org/v1 -- my-agent
  pmem proxy --port 8555

With CMD the program runs under memory, with the variables set that programs know. Without CMD the
proxy serves until ctrl-C, and prints what to set. It listens on 127.0.0.1 alone; keys pass through
it and are kept nowhere.""",
)
@click.option(
    "--port",
    type=click.IntRange(min=1, max=65535),
    metavar="N",
    help="Listen here; else at a free port, behind a secret in the address.",
)
@click.option(
    "--upstream",
    metavar="URL",
    help="The service behind it; else the one that each program would have asked.",
)
@click.option(
    "--transient",
    is_flag=True,
    help="A reminder stands in one request only, not in all that follow.",
)
@start_options
@click.argument("command", metavar="[CMD [ARGS]…]", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def proxy(
    ctx: click.Context,
    /,
    command: tuple[str, ...],
    port: int | None,
    upstream: str | None,
    transient: bool,
    **given: Any,
) -> int:
    """Run a program with its model's traffic through pmem, or serve until ctrl-C.

    It sees what the program tells its model, and adds a reminder to the next request. An agent
    that has hooks is better reached by them: pmem AGENT.
    """
    from pmem.cli.proxied import Wish
    from pmem.proxy.routes import checked

    before: StartOptions = ctx.meta.get("pmem.start", StartOptions())
    options = start_options_given(given).over(before)
    try:
        wish = Wish(port or 0, checked(upstream) if upstream else "", transient)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param_hint="--upstream") from None
    return run(ctx.obj, command, options, wish) if command else serve(ctx.obj, options, wish)


def run(
    environment: Environment, command: tuple[str, ...], options: StartOptions, wish: Wish
) -> int:
    """Run a program through the proxy; its exit code."""
    from pmem.agents import registry
    from pmem.cli.launch import located, switched_off, waiting
    from pmem.cli.program import become
    from pmem.cli.proxied import by_proxy
    from pmem.cli.start import start

    agent = registry.known(command[0])
    words = located(environment, command, agent)
    if switched_off(environment, words[0], options):
        become(words, environment.env, environment.cwd)
    patience = waiting(environment, options)
    return start(environment, options, by_proxy(environment, words, agent, options, patience, wish))


def serve(environment: Environment, options: StartOptions, wish: Wish) -> int:
    """Serve until this process is told to end. Raises Trouble (125) where that cannot be."""
    from pmem.cli.proxied import Opening
    from pmem.cli.report import Report
    from pmem.cli.start import Line, Program, configure
    from pmem.proxy.start import missing
    from pmem.session.process import start as start_session

    if trouble := missing():
        raise Trouble(trouble, code=Exit.OURS)
    opening = Opening(environment, options, wish)
    told = addresses(environment, opening, wish)
    nothing = Line(())
    program = Program(("pmem", "proxy"), "proxy", lambda run_dir, nonce: nothing)
    config = configure(environment, options, program)
    if config is None:
        raise Trouble(
            "pmem is switched off here", "the setting 'off' says so: pmem config", Exit.OURS
        )
    try:
        running = start_session(config, environment.env)
    except OSError as error:
        raise Trouble(f"no session could be started: {error.strerror or error}") from None
    report = Report(environment, config, running.link)
    quiet = options.quiet or config.settings.quiet
    opening.open(running.env)
    if environment.stderr_isatty and not quiet:
        report.start_line("ctrl-C ends it")
    for name, address in told:
        environment.write(f"{name}={address}")
    environment.stdout.flush()
    until_told(environment, running.link)
    opening.close()
    report.end(Exit.OK)
    if environment.stderr_isatty and not quiet:
        report.end_line()
    return Exit.OK


def addresses(environment: Environment, opening: Opening, wish: Wish) -> list[tuple[str, str]]:
    """What to set in a program that is to go through the proxy: variable and address."""
    from pmem.agents.base_urls import VARIABLES
    from pmem.cli.proxied import as_clients_want

    doors = opening.doors()
    if wish.upstream:
        door = doors.door(wish.upstream, "model")
        return list(as_clients_want({name: door for name, _ in KNOBS}).items())
    return [
        (name, doors.door(environment.env.get(name) or VARIABLES[name], place))
        for name, place in KNOBS
    ]


def until_told(environment: Environment, link: Link) -> None:
    """Wait for ctrl-C or a signal, or for the end of the session; tell reminders meanwhile."""
    import selectors

    awake, wake = socket.socketpair()
    wake.setblocking(False)
    old_fd = signal.set_wakeup_fd(wake.fileno())
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    old = [signal.signal(one, lambda *_: None) for one in signals]
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(awake, selectors.EVENT_READ)
            selector.register(link, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is awake:
                        return
                    for message in link.receive():
                        tell(environment, message)
                    if link.dead:
                        return
    finally:
        signal.set_wakeup_fd(old_fd)
        for one, handler in zip(signals, old, strict=True):
            signal.signal(one, handler)


def tell(environment: Environment, message: dict[str, Any]) -> None:
    """A reminder as the person at the terminal reads it."""
    shown = message.get("banner")
    if message.get("type") == "banner" and isinstance(shown, dict) and environment.stderr_isatty:
        text = str(shown.get("text") or "").replace("\n", f"{os.linesep}  ")
        environment.write_words(f"pmem: {text}")
