"""The page behind `?`."""

from __future__ import annotations

from pmem.review.lines import Line

_KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Moving, as in less and vim",
        (
            ("↑ ↓, j k", "one row"),
            ("Space b, PgDn PgUp", "one page; ctrl-d ctrl-u half of one"),
            ("g G, Home End", "the first row, the last row"),
            ("41G", "step 41"),
            ("Tab, S B L", "the panes: steps, bank, sessions"),
            ("← →, h l", "into the list, into the page about the chosen row"),
            ("Enter", "the whole page: why it spoke; on a session: open it"),
            ("q, Esc", "back, and out"),
        ),
    ),
    (
        "Steps",
        (
            ("] [", "the next step at which memory spoke, the one before"),
            ("p", "what a model was sent and answered"),
            ("J K", "the next step, the one before, from the whole page too"),
            ("/ n N", "find a text in what was done and what came of it"),
            ("&", "only the steps that hold a text"),
            ("f", "only where it spoke, only what failed, all"),
        ),
    ),
    (
        "Signs",
        (
            ("● ■", "it spoke; it put the action back, once"),
            ("○ ·", "chose silence over a reminder; had nothing to say"),
            ("✓ ✗", "passed, failed"),
            ("◆ •", "a fact, a diagnosis"),
            ("◉ ◌ ✖", "a watch that is armed, spent, past"),
            ("★", "pinned: it stays however full the bank is"),
        ),
    ),
    (
        "Bank",
        (
            ("/", "filter as you type; the word stale finds what is stale"),
            ("e, E", "edit the words; the whole entry in your editor"),
            ("a, d, *", "add a fact, delete one, pin one"),
            ("r", "rely on a stale entry again"),
            ("D", "delete all that is stale"),
            ("u, ctrl-r", "undo, redo"),
        ),
    ),
)


def _page() -> list[Line]:
    lines: list[Line] = []
    for head, keys in _KEYS:
        lines += [[("head", head)]]
        lines += [[("key", f"  {key:20}"), ("", words)] for key, words in keys]
        lines.append([])
    lines.append([("dim", "The mouse chooses, scrolls, and opens with a second click.")])
    return lines


HELP = _page()
