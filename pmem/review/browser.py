"""The browser on a terminal: prompt-toolkit around a View."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from pmem.review import keys
from pmem.review.screen import Drawn, drawn
from pmem.review.style import STYLE
from pmem.review.view import STEPS, View

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.mouse_events import MouseEvent

    from pmem.core.bank import Entry

#: Seconds between two looks at files that may have grown.
PAUSE = 0.5


class Browser:
    """A View on the screen. `line` is what is typed at the bottom: "" (nothing), `/`, `&`, or
    `bank`; `writing` is the box in which an entry's words are written."""

    view: View
    app: Application[None]

    def __init__(self, view: View, edit: Callable[[str], str | None], *, colour: bool) -> None:
        from prompt_toolkit.buffer import Buffer

        self.view = view
        self.edit = edit
        self.colour = colour
        self.line = ""
        self.writing = ""
        self.editing: Entry | None = None
        self.typed = Buffer(multiline=False, on_text_changed=lambda _: self._typed())
        self.text = Buffer(multiline=True)
        self._noted = len(view.desk.bank_file.notes)
        self._drawn = Drawn()
        self.app = self._application()

    def run(self) -> None:
        """Until the person leaves."""
        self.app.run(pre_run=self._begin)

    def _begin(self) -> None:
        self.app.create_background_task(self._watch())

    # -- drawing ------------------------------------------------------------------------------

    def _application(self) -> Application[None]:
        from prompt_toolkit.application import Application
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.layout import (
            BufferControl,
            ConditionalContainer,
            Float,
            FloatContainer,
            FormattedTextControl,
            HSplit,
            Layout,
            VSplit,
            Window,
        )
        from prompt_toolkit.output import ColorDepth
        from prompt_toolkit.styles import Style
        from prompt_toolkit.widgets import Frame

        typing = Condition(lambda: bool(self.line))
        self.main = Window(FormattedTextControl(self._screen, focusable=True, show_cursor=False))
        self.prompt = Window(BufferControl(self.typed), height=1)
        prompt = VSplit(
            [
                Window(
                    FormattedTextControl(lambda: [("class:key", f" {self._sign()}")]),
                    width=lambda: len(self._sign()) + 1,
                    height=1,
                ),
                self.prompt,
            ]
        )
        self.box = Window(BufferControl(self.text), wrap_lines=True, height=8)
        frame = Frame(self.box, title=lambda: self.writing)
        layout = FloatContainer(
            HSplit([self.main, ConditionalContainer(prompt, typing)]),
            [
                Float(
                    ConditionalContainer(frame, Condition(lambda: bool(self.writing))),
                    left=0,
                    right=0,
                    bottom=1,
                )
            ],
        )
        return Application(
            Layout(layout, focused_element=self.main),
            key_bindings=keys.bindings(self),
            style=Style.from_dict(STYLE),
            full_screen=True,
            mouse_support=True,
            color_depth=None if self.colour else ColorDepth.DEPTH_1_BIT,
            include_default_pygments_style=False,
        )

    def _screen(self) -> StyleAndTextTuples:
        size = self.app.output.get_size()
        height = size.rows - (1 if self.line else 0)
        self._drawn = drawn(self.view, size.columns, max(height, 8))
        lines = self._drawn.lines if not self.line else self._drawn.lines[:-1]
        made: StyleAndTextTuples = []
        for n, line in enumerate(lines):
            for style, text in line:
                made.append((_classes(style), text, self._mouse))
            if n < len(lines) - 1:
                made.append(("", "\n"))
        return made

    def _sign(self) -> str:
        return {"/": "find /", "&": "only &", "bank": "filter /"}.get(self.line, "")

    # -- the mouse ----------------------------------------------------------------------------

    def _mouse(self, event: MouseEvent) -> object:
        from prompt_toolkit.mouse_events import MouseEventType

        hit = self._drawn.hit(event.position.x, event.position.y)
        if hit is None or self.line or self.writing:
            return NotImplemented
        pane, row = hit
        if event.event_type is MouseEventType.SCROLL_DOWN:
            self._scroll(pane, 3)
        elif event.event_type is MouseEventType.SCROLL_UP:
            self._scroll(pane, -3)
        elif event.event_type is MouseEventType.MOUSE_UP and pane != "detail":
            view = self.view
            if row < view.count_of(pane):
                again = pane == view.pane and row == view.place.at and not view.in_detail
                view.in_detail = False
                if pane != view.pane:
                    view.show(pane)
                view.choose(row)
                if again:
                    keys.enter(self)
        return None

    def _scroll(self, pane: str, by: int) -> None:
        view = self.view
        inside, view.in_detail = view.in_detail, pane == "detail"
        view.move(by)
        view.in_detail = inside

    # -- typing -------------------------------------------------------------------------------

    def ask(self, line: str, text: str = "") -> None:
        """Open the line at the bottom."""
        self.line = line
        self.typed.text = text
        self.typed.cursor_position = len(text)
        self.app.layout.focus(self.prompt)

    def answer(self) -> None:
        """What is typed counts; the line closes."""
        line, text = self.line, self.typed.text
        self.leave()
        if line == "/" and text:
            self.view.seek(text)
        elif line == "&":
            self.view.filter_steps("", text)

    def leave(self) -> None:
        """Close the line, or the box."""
        self.line = self.writing = ""
        self.app.layout.focus(self.main)

    def write(self, title: str, text: str) -> None:
        """Open the box in which words are written."""
        self.writing = title
        self.text.text = text
        self.text.cursor_position = len(text)
        self.app.layout.focus(self.box)

    def _typed(self) -> None:
        if self.line == "bank":
            self.view.bank_filter = self.typed.text
            self.view.choose(0)

    # -- what goes on meanwhile ---------------------------------------------------------------

    async def _watch(self) -> None:
        """Take in what a running session appends; look through what a filter has not seen yet."""
        view = self.view
        while True:
            busy = view.hunt is not None and view.hunt.go_on()
            if busy or self._grown():
                self.app.invalidate()
            await asyncio.sleep(0.01 if busy else PAUSE)

    def _grown(self) -> bool:
        view = self.view
        unread = view.unread
        changed = view.desk.bank_file.refresh()
        if view.unread != unread:
            view.say(view.unread or "the bank can be read again", trouble=bool(view.unread))
            changed = True
        notes = view.desk.bank_file.notes
        if len(notes) > self._noted and view.unread == unread:
            view.say(notes[-1].replace(view.desk.bank_file.path, "bank.toml"), trouble=True)
            changed = True
        self._noted = len(notes)
        if view.recorded is None:
            return changed
        place = view.places[STEPS]
        at_end = view.hunt is None and place.at >= view.recorded.count - 1
        if not view.recorded.refresh():
            return changed
        if at_end and not view.whole:
            place.at = max(view.recorded.count - 1, 0)
            place.keep(view.height, view.recorded.count)
        return True


def _classes(style: str) -> str:
    """`bad underline` as prompt-toolkit has it."""
    words = (w if w in ("underline", "bold") else f"class:{w}" for w in style.split())
    return " ".join(words)
