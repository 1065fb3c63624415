"""What each key does in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pmem.review.changing import ACTIONS, settle, write_on, written
from pmem.review.view import BANK, FILTERS, PANES, SESSIONS, STEPS

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from pmem.review.browser import Browser

Action = Callable[["Browser"], None]


def bindings(browser: Browser) -> KeyBindings:
    """All keys, those of the browser itself and those of its two text fields."""
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.key_binding import KeyBindings

    made = KeyBindings()
    free = Condition(lambda: not browser.line and not browser.writing)
    calm = Condition(lambda: browser.view.conflict is None)
    torn = Condition(lambda: browser.view.conflict is not None)

    def bind(names: str, action: Action, when: Condition = calm) -> None:
        for name in names.split():

            @made.add(*name.split("+"), filter=free & when)
            def _(event: KeyPressEvent) -> None:
                browser.view.say("")
                action(browser)
                browser.view.digits = ""

    for names, action in MOVES.items():
        bind(names, action)
    for names, action in ACTIONS.items():
        bind(names, action)
    bind("m", lambda b: settle(b, keep=True), torn)
    bind("t", lambda b: settle(b, keep=False), torn)
    bind("escape q", write_on, torn)

    for digit in "0123456789":

        @made.add(digit, filter=free & calm)
        def _(event: KeyPressEvent, digit: str = digit) -> None:
            browser.view.say("")
            browser.view.digits = (browser.view.digits + digit)[-9:].lstrip("0")

    @made.add("c-c")
    @made.add("<sigint>")
    def _(event: KeyPressEvent) -> None:
        event.app.exit()

    _typing(made, browser)
    return made


def _typing(made: KeyBindings, browser: Browser) -> None:
    from prompt_toolkit.filters import Condition

    line = Condition(lambda: bool(browser.line))
    box = Condition(lambda: bool(browser.writing))

    @made.add("enter", filter=line)
    def _(event: KeyPressEvent) -> None:
        browser.answer()

    @made.add("escape", filter=line, eager=True)
    def _(event: KeyPressEvent) -> None:
        if browser.line == "bank":
            browser.view.bank_filter = ""
        browser.leave()

    @made.add("down", filter=line)
    @made.add("up", filter=line)
    def _(event: KeyPressEvent) -> None:
        browser.view.move(1 if "down" in str(event.key_sequence[0].key).lower() else -1)

    @made.add("escape", filter=box, eager=True)
    def _(event: KeyPressEvent) -> None:
        browser.leave()
        browser.view.say("nothing changed")

    @made.add("c-s", filter=box)
    def _(event: KeyPressEvent) -> None:
        text, title = browser.text.text.strip(), browser.writing
        browser.leave()
        written(browser, title, text)


# -- moving -----------------------------------------------------------------------------------


def _page(browser: Browser, share: float) -> None:
    view = browser.view
    inside = view.in_detail or view.whole or view.help
    height = view.detail_height if inside else view.height
    view.move(int(max(1, (height - 1) * abs(share))) * (1 if share > 0 else -1))


def enter(browser: Browser) -> None:
    """The whole page about the chosen row; on a session: open it; after digits: go there."""
    view = browser.view
    if view.digits:
        view.go_to(int(view.digits))
    elif view.pane == SESSIONS and view.sessions:
        view.open(view.sessions[view.place.at])
    elif view.count:
        view.whole, view.detail_top = not view.whole, 0


def back(browser: Browser) -> None:
    """Out of what is open last; at last out of the browser."""
    view = browser.view
    if view.help:
        view.help, view.detail_top = False, 0
    elif view.digits:
        return
    elif view.whole:
        view.whole, view.detail_top = False, 0
    elif view.in_detail:
        view.in_detail = False
    elif view.filter:
        view.filter_steps("")
    elif view.bank_filter:
        view.bank_filter = ""
    else:
        browser.app.exit()


def _end(browser: Browser) -> None:
    if browser.view.digits:
        browser.view.go_to(int(browser.view.digits))
    else:
        browser.view.end(last=True)


def _tab(browser: Browser, by: int) -> None:
    view = browser.view
    view.show(PANES[(PANES.index(view.pane) + by) % len(PANES)])


def _into(browser: Browser, inside: bool) -> None:
    if not browser.view.whole:
        browser.view.in_detail = inside


def _beside(browser: Browser, by: int) -> None:
    """The next row, from the whole page too."""
    view = browser.view
    inside, whole = view.in_detail, view.whole
    view.in_detail = view.whole = False
    view.move(by)
    view.in_detail, view.whole = inside, whole


def _help(browser: Browser) -> None:
    browser.view.help, browser.view.detail_top = not browser.view.help, 0


def _prompt(browser: Browser) -> None:
    browser.view.prompts = not browser.view.with_prompts
    browser.view.say("prompts are shown" if browser.view.prompts else "prompts are folded away")


def _filter(browser: Browser) -> None:
    view = browser.view
    now = view.filter if view.filter in FILTERS else ""
    view.filter_steps(FILTERS[(FILTERS.index(now) + 1) % len(FILTERS)])


def _slash(browser: Browser) -> None:
    if browser.view.pane == BANK:
        browser.ask("bank", browser.view.bank_filter)
    else:
        browser.view.show(STEPS)
        browser.ask("/")


MOVES: dict[str, Action] = {
    "down j c-n c-e": lambda b: b.view.move(1),
    "up k c-p c-y": lambda b: b.view.move(-1),
    "space pagedown c-f": lambda b: _page(b, 1),
    "b pageup c-b": lambda b: _page(b, -1),
    "c-d": lambda b: _page(b, 0.5),
    "c-u": lambda b: _page(b, -0.5),
    "g home <": lambda b: b.view.end(last=False),
    "G end >": _end,
    "J": lambda b: _beside(b, 1),
    "K": lambda b: _beside(b, -1),
    "right l": lambda b: _into(b, True),
    "left h": lambda b: _into(b, False),
    "enter": enter,
    "tab": lambda b: _tab(b, 1),
    "s-tab": lambda b: _tab(b, -1),
    "S": lambda b: b.view.show(STEPS),
    "B": lambda b: b.view.show(BANK),
    "L": lambda b: b.view.show(SESSIONS),
    "q escape": back,
    "Q": lambda b: b.app.exit(),
    "?": _help,
    "]": lambda b: b.view.next_spoken(),
    "[": lambda b: b.view.next_spoken(back=True),
    "p": _prompt,
    "f": _filter,
    "/": _slash,
    "&": lambda b: b.ask("&"),
    "n": lambda b: b.view.seek(""),
    "N": lambda b: b.view.seek("", back=True),
}
