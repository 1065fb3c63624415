"""How steps and decisions look: one line each, cut to the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmem.cli.environment import Environment
from pmem.cli.spent import dollars
from pmem.cli.tables import UNBOUNDED, width
from pmem.cli.words import clock
from pmem.core.decision import HEADER
from pmem.core.text import clean
from pmem.terminal.banner import MAX_COLUMNS, charset, render_banner
from pmem.terminal.cells import fit, wrap

GREY, RED, YELLOW, CYAN = "2", "31", "33", "36"


class Lines:
    """Makes lines for one environment: its width, its colours."""

    def __init__(self, environment: Environment) -> None:
        self.width = width(environment)
        self.colour = environment.colour(environment.stdout)
        self.ascii_only = charset(environment.env) not in ("utf-8", "utf8")

    def step(self, step: Mapping[str, Any]) -> str:
        """`  12  14:02:11  ✗ 2    0.3 s  npm test`"""
        code = step.get("exit_code")
        failed = bool(code) or step.get("is_error") is True
        mark = "✗" if failed else "✓" if code == 0 else "·"
        seconds = step.get("seconds")
        took = "" if seconds is None else f"{seconds:.1f} s"
        head = f"{step['step']:>4}  {clock(step.get('started')):8}"
        ended = f"{mark} {code if code else '':<3}"
        room = max(self.width - len(head) - len(ended) - 12, 8)
        return (
            self._paint(head, GREY)
            + "  "
            + self._paint(ended, RED if failed else "")
            + self._paint(f"{took:>8}", GREY)
            + "  "
            + self._what(step, room)
        )

    def said(self, decision: Mapping[str, Any]) -> str:
        """A reminder between the steps, wrapped."""
        held = ", held" if decision.get("hold") else ""
        how = f"({decision.get('delivery')}{held})"
        text = f"{HEADER} {clean(str(decision.get('text', '')))} {how}"
        lines = [text] if self.width == UNBOUNDED else wrap(text, max(self.width - 6, 20))
        return "\n".join(self._paint(f"      {line}", YELLOW) for line in lines)

    def banner(self, decision: Mapping[str, Any]) -> str:
        """A reminder in its box, as a shell shows it."""
        from pmem.agents.human import HELD

        told = {
            "text": decision.get("text", ""),
            "held": HELD if decision.get("hold") else False,
            "citations": decision.get("cited") or (),
        }
        columns = MAX_COLUMNS if self.width == UNBOUNDED else self.width
        drawn = render_banner(told, columns, self.colour, ascii_only=self.ascii_only)
        return drawn.replace("\r\n", "\n").rstrip("\n")

    def decision(self, decision: Mapping[str, Any]) -> str:
        """`  12  14:02:11  silent  failure    no rule applies`"""
        reminds = decision.get("decision") == "remind"
        head = f"{decision.get('before_step', 0):>4}  {clock(decision.get('time')):8}  "
        kind = f"{decision.get('decision', ''):6}  {decision.get('trigger', ''):12}  "
        why = str(decision.get("text") if reminds else decision.get("verdict", ""))
        if reminds:
            held = ", held" if decision.get("hold") else ""
            why += f" [{decision.get('reason', '')}; {decision.get('delivery')}{held}]"
        elif decision.get("candidate"):
            why += f": {decision['candidate']}"
        why += _cost(decision.get("model"))
        style = YELLOW if reminds else GREY
        first = self._paint(head, GREY) + self._paint(kind.rstrip(), style)
        if self.width == UNBOUNDED:
            return first + "  " + self._paint(_flat(why), style)
        gap = len(head) + len(kind) if self.width >= 76 else 6
        lines = wrap(_flat(why), self.width - gap)
        if gap > 6:
            first += " " * (len(kind) - len(kind.rstrip())) + self._paint(lines.pop(0), style)
        return "\n".join([first, *(self._paint(" " * gap + line, style) for line in lines)])

    def _what(self, step: Mapping[str, Any], room: int) -> str:
        kind = step["kind"]
        text = step["action"] or step["observation"]
        label = "" if kind == "command" else f"{kind}: "
        flat = _flat(text)
        if self.width != UNBOUNDED:
            flat = fit(flat, room - len(label))
        return self._paint(label, CYAN) + flat

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if style and text and self.colour else text


def _cost(model: Any) -> str:
    """What a model's calls behind a decision took: `(calls 3, 4; 5,120 tokens, …)`."""
    if not isinstance(model, Mapping):
        return ""
    tokens = sum(int(model.get(k) or 0) for k in ("input", "output", "cache_read", "cache_write"))
    calls = ", ".join(str(n) for n in model.get("calls") or ())
    money = dollars(float(model.get("money") or 0))
    seconds = float(model.get("ms") or 0) / 1000
    return f" (call {calls or '-'}; {tokens:,} tokens{money}, {seconds:.1f} s)"


def _flat(text: str) -> str:
    """A text on one line."""
    return " ⏎ ".join(line.strip() for line in clean(text).split("\n") if line.strip())
