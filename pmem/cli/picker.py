"""A small picker: one of several agents, by arrow keys, digits or first letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def pick(question: str, choices: Sequence[tuple[T, str]], *, colour: bool = True) -> T | None:
    """The value of the chosen line, None if the person left with Escape or ctrl-C.

    Drawn below the cursor and gone when it is answered; needs a terminal on stdin and stdout.
    """
    from prompt_toolkit.application import Application
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.layout import HSplit, Layout, Window
    from prompt_toolkit.layout.controls import FormattedTextControl
    from prompt_toolkit.output import ColorDepth

    at = 0
    keys = KeyBindings()

    @keys.add("up")
    @keys.add("k")
    def _(event: KeyPressEvent) -> None:
        nonlocal at
        at = (at - 1) % len(choices)

    @keys.add("down")
    @keys.add("j")
    @keys.add("tab")
    def _(event: KeyPressEvent) -> None:
        nonlocal at
        at = (at + 1) % len(choices)

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        event.app.exit(result=at)

    @keys.add("escape", eager=True)
    @keys.add("c-c")
    @keys.add("c-d")
    @keys.add("q")
    def _(event: KeyPressEvent) -> None:
        event.app.exit(result=None)

    for number in range(min(len(choices), 9)):

        @keys.add(str(number + 1))
        def _(event: KeyPressEvent, number: int = number) -> None:
            event.app.exit(result=number)

    def lines() -> StyleAndTextTuples:
        shown: StyleAndTextTuples = [("bold", f"{question}\n")]
        for n, (_, label) in enumerate(choices):
            mark, style = ("❯", "bold ansicyan") if n == at else (" ", "")
            shown.append((style, f" {mark} {n + 1} {label}\n"))
        shown.append(("ansibrightblack", " ↑ ↓ choose · Enter start · Esc leave"))
        return shown

    app: Application[int | None] = Application(
        layout=Layout(
            HSplit(
                [Window(FormattedTextControl(lines, show_cursor=False), height=len(choices) + 2)]
            )
        ),
        key_bindings=keys,
        erase_when_done=True,
        color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
    )
    chosen = app.run()
    return None if chosen is None else choices[chosen][0]
