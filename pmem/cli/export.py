"""`pmem export`: a session for other programs, or to be read."""

from __future__ import annotations

import click

from pmem.cli.environment import Environment
from pmem.cli.exits import Exit, Trouble
from pmem.cli.options import directory_option
from pmem.cli.project import project_of

FORMATS = ("atif", "asciicast", "markdown")


@click.command(
    short_help="Write a session as ATIF, asciicast or Markdown.",
    epilog="""\b
Examples:
  pmem export --format atif -o run.json     for Harbor, and what reads ATIF
  pmem export --format asciicast | asciinema play -
  pmem export 20261130-114207 --format markdown -o session.md

A terminal that was recorded (--record) is exported as it was; otherwise the cast is made from the
steps. The memory agent's own notes, its status, are in none of them.""",
)
@click.argument("session", required=False)
@click.option("--format", "kind", type=click.Choice(FORMATS), required=True, help="What to write.")
@click.option("--output", "-o", metavar="FILE", help="Where to write it; else stdout.")
@directory_option
@click.pass_obj
def export(
    environment: Environment,
    session: str | None,
    kind: str,
    output: str | None,
    directory: str | None,
) -> None:
    """Write SESSION (an id, or the path of a file of steps; by default the newest one here)."""
    import json

    from pmem.cli.log import the_session
    from pmem.cli.report_page import write_out
    from pmem.review.exports import atif, cast, markdown
    from pmem.review.exports.run import load
    from pmem.terminal.cast import CAST

    place = the_session(environment, project_of(environment, directory), session)
    recorded = place / CAST
    if kind == "asciicast" and place.is_dir() and recorded.is_file():
        write_out(environment, output, recorded.read_text(encoding="utf-8"))
        return
    try:
        run = load(place)
    except OSError as error:
        raise Trouble(
            f"cannot read {place}: {error.strerror or error}", code=Exit.MISSING
        ) from None
    if not run.steps:
        raise Trouble(f"{place} holds no step", "pmem status shows the sessions", Exit.MISSING)
    if kind == "atif":
        text = json.dumps(atif.document(run), ensure_ascii=False, indent=1) + "\n"
    elif kind == "asciicast":
        text = "".join(line + "\n" for line in cast.lines(run))
    else:
        text = markdown.text(run)
    write_out(environment, output, text.encode("utf-8", "replace").decode())
