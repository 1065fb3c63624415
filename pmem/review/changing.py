"""What keys do to the bank: each acts on the chosen entry, and can be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pmem.review.desk import Conflict
from pmem.review.view import BANK

if TYPE_CHECKING:
    from pmem.core.bank import Entry
    from pmem.review.browser import Browser

ADDING = "a new fact: ctrl-s keeps it, Esc does not"
TITLE = "{}: ctrl-s keeps it, Esc does not"


def _chosen(browser: Browser) -> Entry | None:
    """The entry that keys act on, None where the bank is not shown or has none."""
    return browser.view.entry if browser.view.pane == BANK else None


def _edit(browser: Browser) -> None:
    entry = _chosen(browser)
    if entry is not None:
        browser.editing = entry
        browser.write(TITLE.format(entry.id), entry.content)


def written(browser: Browser, title: str, text: str) -> None:
    """What was written in the box counts: a new fact, or an entry's new words."""
    view = browser.view
    try:
        if title == ADDING:
            view.take(view.desk.add(text))
            view.choose(len(view.entries()) - 1)
        elif browser.editing is not None:
            entry = browser.editing
            if text == entry.content:
                view.say("nothing changed")
            else:
                view.take(view.desk.amend(entry, content=text, source="user", stale="", files={}))
    except ValueError as error:
        view.say(str(error), trouble=True)


def _outside(browser: Browser) -> None:
    """The whole entry in the person's own editor."""
    entry = _chosen(browser)
    if entry is None:
        return

    def edited() -> None:
        from pmem.review.whole_entry import change

        try:
            fields = change(entry, browser.edit)
        except ValueError as error:
            browser.view.say(str(error), trouble=True)
            return
        browser.view.take(browser.view.desk.amend(entry, **fields) if fields else "nothing changed")

    from prompt_toolkit.application import run_in_terminal

    run_in_terminal(edited)


def _delete(browser: Browser) -> None:
    entry = _chosen(browser)
    if entry is not None:
        browser.view.take(browser.view.desk.delete(entry))


def _delete_stale(browser: Browser) -> None:
    view = browser.view
    stale = [entry for entry in view.desk.entries.values() if entry.stale]
    view.show(BANK)
    view.take(view.desk.delete(*stale) if stale else "nothing is stale")


def _pin(browser: Browser) -> None:
    entry = _chosen(browser)
    if entry is not None:
        browser.view.take(browser.view.desk.pin(entry))


def _trust(browser: Browser) -> None:
    entry = _chosen(browser)
    if entry is not None and entry.stale:
        browser.view.take(browser.view.desk.trust(entry))


def _add(browser: Browser) -> None:
    browser.view.show(BANK)
    browser.write(ADDING, "")


def _again(browser: Browser, said: str) -> None:
    """What was undone, or done again, is what is looked at next."""
    browser.view.find(browser.view.desk.touched)
    browser.view.take(said)


def write_on(browser: Browser) -> None:
    """The person's words are in the box again, over what the entry has become."""
    conflict, browser.view.conflict = browser.view.conflict, None
    words = conflict.ours.after.get("content") if conflict is not None else None
    entry = browser.view.desk.entries.get(conflict.id) if conflict is not None else None
    if isinstance(words, str) and entry is not None:
        browser.editing = entry
        browser.write(TITLE.format(entry.id), words)


def settle(browser: Browser, *, keep: bool) -> None:
    """The person decided a conflict: theirs is kept, or what somebody else wrote."""
    view = browser.view
    conflict, view.conflict = view.conflict, None
    if isinstance(conflict, Conflict):
        view.take(view.desk.insist(conflict) if keep else f"{conflict.id} stays as it is now")


ACTIONS: dict[str, Callable[[Browser], None]] = {
    "e": _edit,
    "E": _outside,
    "a": _add,
    "d": _delete,
    "D": _delete_stale,
    "*": _pin,
    "r": _trust,
    "u": lambda b: _again(b, b.view.desk.undo()),
    "U c-r": lambda b: _again(b, b.view.desk.redo()),
}
