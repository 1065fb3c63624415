"""The report page: one self-contained HTML file made from accounts."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmem import __version__
from pmem.core.text import clean
from pmem.review.account import MAX_SILENCES, MAX_TOLD, Account, in_words
from pmem.review.after import LOOKED_AT, failed
from pmem.review.timeline import timeline
from pmem.review.why import DELIVERIES, TRIGGERS

if TYPE_CHECKING:
    from markupsafe import Markup

TEMPLATE = Path(__file__).with_name("page.html")


def of_session(project: str, account: Account) -> str:
    """The page of one session; `project` is a name."""
    last = account.outcomes[-1][0] if account.outcomes else account.steps
    last = max([last, account.info.steps, *(step for step, _ in account.marks)])
    return _page(
        title=f"{account.info.id}, {project}",
        project=project,
        one=account,
        picture=timeline(account.outcomes, account.marks, last),
    )


def of_all(project: str, accounts: Sequence[Account]) -> str:
    """The page over all sessions, given newest first."""
    reasons: dict[str, Counter[str]] = {}
    for account in accounts:
        for told in account.told:
            name = by(told.decision.get("reason"), told.decision.get("model"))
            reasons.setdefault(name, Counter())[told.came.verdict] += 1
    return _page(
        title=f"All sessions, {project}",
        project=project,
        all=in_words(accounts),
        accounts=accounts,
        reasons=sorted(reasons.items(), key=lambda pair: -sum(pair[1].values())),
    )


def _page(**given: Any) -> str:
    from jinja2 import Environment

    made = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {
        "brief": brief,
        "by": by,
        "coded": coded,
        "clock": lambda t: time.strftime("%H:%M", time.localtime(t)) if t else "",
        "delivery": lambda name: DELIVERIES.get(name, "unknown"),
        "failed": failed,
        "money": money,
        "percent": percent,
        "tail": tail,
        "times": times,
        "thousands": lambda n: f"{n:,}",
        "trigger": lambda name: TRIGGERS.get(name, "unknown"),
        "when": lambda t: time.strftime("%Y-%m-%d %H:%M", time.localtime(t)),
    }
    return made.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        **{"one": None, "all": None, **given},
        most=MAX_TOLD,
        silences=MAX_SILENCES,
        looked_at=LOOKED_AT,
        now=time.time(),
        version=__version__,
    )


def brief(text: object, limit: int = 200) -> str:
    """A text on one line, cut to so many characters."""
    flat = " ".join(clean(str(text or "")).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def coded(text: object) -> Markup:
    """A text as it may stand in HTML, with what it has in backticks set as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(text))))


def tail(observation: object) -> str:
    """The last line of an output that says something."""
    lines = [line.strip() for line in clean(str(observation)).splitlines() if line.strip()]
    return brief(lines[-1], 160) if lines else ""


def money(spent: Mapping[str, Any]) -> str:
    """US dollars; less than a cent is told as such."""
    amount = float(spent.get("money", 0) or 0)
    return f"${amount:.2f}" if amount >= 0.01 or not amount else f"${amount:.4f}"


def percent(share: float) -> str:
    """A share of one; what is not all is not told as all."""
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return f"{100 * share:.1f} %"


def times(number: int) -> str:
    """How often, in words: `once`, `never`, `12 times`."""
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number:,} times")


def by(reason: object, model: object) -> str:
    """Who found a reminder: a rule, a watch, a model."""
    if isinstance(model, Mapping):
        return f"model {model.get('name', '')}"
    text = str(reason or "unknown")
    if text.startswith("watch:"):
        return f"watch {text.removeprefix('watch:')}"
    return f"rule {text}"
