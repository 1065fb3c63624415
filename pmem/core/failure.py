"""Did a step fail, and why: by its exit code, and by its output where the code cannot tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pmem.core.bash import read
from pmem.core.data import table
from pmem.core.exits import (
    Report,
    hidden,
    is_answer,
    is_poll,
    prints_files,
    proves_all,
    reports,
    working,
    works,
)
from pmem.core.step import ACTING_KINDS, Step
from pmem.core.symptoms import evidence, lines_of, most_telling, own_voice, shortened, symptoms
from pmem.core.syntax import Node, Simple, walk
from pmem.core.unwrap import unwrapped

#: A prompt with what was typed after it, in a terminal's screen.
_PROMPT = re.compile(
    r"(?:\([\w.-]+\) )?(?:[\w.-]+@[\w.-]+:[^\s#$%]*|(?:ba|z)?sh-\d[\d.]*)[#$%](?: (.*))?$"
)
_SEEN = re.compile(r"@[\w.-]+:[^\s#$%]*[#$%](?: |$)|sh-\d[\d.]*[#$%](?: |$)", re.MULTILINE)
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code:? (-?\d+)\b")
_REACHES = {
    "cd": re.compile(
        r"(?:\S*sh: (?:line \d+: |\d+: )?cd|cd): .+: .+|\S*sh:cd:\d+: .+|cd: The directory .+"
    ),
    "curl": re.compile(r"curl: \(\d+\) .+"),
    "wget": re.compile(r"wget: .+"),
}
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "-bash", "-zsh", "(eval)"})
#: Codes of a shell that could not start the command at all.
_NOT_STARTED = frozenset({126, 127})


@dataclass(frozen=True, slots=True)
class Verdict:
    """`failure` is one line of at most 160 characters that says why, "" if the step passed or
    does not say."""

    failed: bool
    failure: str = ""


_PASSED = Verdict(False)


def judge(step: Step) -> Verdict:
    """Whether a finished step failed.

    Words, compactions and calls the user turned down never fail. A command fails by its exit
    code unless the code is an answer (`grep` found nothing, a check is pending); behind a 0
    that proves little (`| tail`, `|| true`, `; echo`) and where no code is known, its output
    decides, but never the text of a file that was read. Other tools fail by what they say.
    """
    if step.kind not in ACTING_KINDS or is_refused(step):
        return _PASSED
    if step.exit_code is None and step.is_error is None and _SEEN.search(step.observation):
        screen = list(_screen(step.observation))
        if screen:
            return _judge_screen(screen)
    if step.kind != "command":
        return _judge_tool(step)
    node = unwrapped(read(step.action))
    code = _code(step)
    if code == 0 and proves_all(node):
        return _PASSED
    lines = lines_of(step.observation)
    if code:
        return _by_code(node, code, lines)
    if step.is_error:
        return Verdict(True, most_telling(lines))
    return _by_output(node, lines, code)


def is_refused(step: Step) -> bool:
    """Whether the user (or a rule of theirs) turned the call down."""
    if step.refused:
        return True
    told = step.is_error or step.exit_code is None
    beginning = step.observation[:200].lstrip()
    return bool(told) and beginning.startswith(tuple(table("failures")["refused"]["begins"]))


def _code(step: Step) -> int | None:
    """The exit code: as told, else as an agent writes it in front of the output."""
    if step.exit_code is not None:
        return step.exit_code
    if step.is_error:
        told = _EXIT_CODE.match(step.observation)
        return int(told[1]) if told else None
    return 0 if step.is_error is False else None


def _by_code(node: Node, code: int, lines: list[str]) -> Verdict:
    names = _SHELLS | {simple.name for simple in walk(node) if isinstance(simple, Simple)}
    if code not in _NOT_STARTED and is_answer(node, code):
        if is_poll(node):
            return _PASSED
        voiced = own_voice(lines, names)
        return Verdict(True, shortened(voiced)) if voiced else _by_output(node, lines, 0)
    if _is_table(lines):
        return _PASSED
    if code in _NOT_STARTED or not working(node):
        voiced = own_voice(lines, names)
        if voiced:
            return Verdict(True, shortened(voiced))
    if not lines and code == 124:
        return Verdict(True, "timed out")
    return Verdict(True, most_telling(lines))


def _is_table(lines: list[str]) -> bool:
    """Whether a poll's table of pending checks is all there is."""
    return bool(lines) and all(_table_row().match(line) for line in lines)


@cache
def _table_row() -> re.Pattern[str]:
    return re.compile(table("commands")["polls"]["table"])


def _by_output(node: Node, lines: list[str], code: int | None) -> Verdict:
    """Where the code is 0 or unknown: what the line itself reports, then what it printed."""
    reported = _reported(node, lines)
    if reported is not None:
        return reported
    simples = [simple for simple in walk(node) if isinstance(simple, Simple)]
    doubtful = list(hidden(node)) if code == 0 else working(node)
    missed = _missed(simples, lines)
    if missed:
        return Verdict(True, shortened(missed))
    if not doubtful:
        if code is None and len(lines) <= 3 and not is_poll(node):
            voiced = own_voice(lines, _SHELLS | {simple.name for simple in simples})
            return Verdict(True, shortened(voiced)) if voiced else _PASSED
        return _PASSED
    silent = {simple.name for simple in simples if not works(simple)}
    if evidence(lines, silent, mixed=prints_files(node)):
        return Verdict(True, most_telling(lines))
    return _PASSED


def _missed(simples: list[Simple], lines: list[str]) -> str:
    """What a `cd` or a download says when it did not get there: all after it is off the track."""
    names = {simple.name for simple in simples} & _REACHES.keys()
    return next((line for line in lines if any(_REACHES[n].match(line) for n in names)), "")


def _reported(node: Node, lines: list[str]) -> Verdict | None:
    """What `; echo "exit $?"` or `|| echo FAILED` printed, None if they printed nothing."""
    passed = None
    for report in reports(node):
        told = next((m for m in map(report.prints.fullmatch, lines) if m), None)
        if told is None or not working(report.subject):
            continue
        code = int(told[1]) if report.tells_code else 1
        if code and not is_answer(report.subject, code):
            others = [line for line in lines if line != told[0]]
            says_more = symptoms(others) or (report.tells_code and others)
            return Verdict(True, most_telling(others) if says_more else shortened(told[0]))
        if code == 0 and not _proves_little(report):
            passed = _PASSED
    return passed


def _proves_little(report: Report) -> bool:
    return any(True for _ in hidden(report.subject))


def _judge_tool(step: Step) -> Verdict:
    """A tool of the agent's own: by its mark, else by how its result begins."""
    lines = lines_of(step.observation[:20_000])
    if step.is_error or step.exit_code:
        return Verdict(True, most_telling(lines))
    if step.is_error is None and step.exit_code is None and step.kind != "read":
        for line in lines[:3]:
            if _tool_failed().match(line):
                return Verdict(True, shortened(line))
    return _PASSED


@cache
def _tool_failed() -> re.Pattern[str]:
    return re.compile("|".join(table("failures")["tools"]["failed"]))


def _screen(observation: str) -> Iterator[tuple[str, list[str]]]:
    """A terminal's screen cut at its prompts: what was typed, and what came after it."""
    typed: str | None = None
    output: list[str] = []
    for line in lines_of(observation):
        prompt = _PROMPT.match(line)
        if prompt is None:
            if not line.startswith("> "):  # the shell asking for more of a command
                output.append(line)
            continue
        if typed is not None or len(output) > 1:
            yield typed or "", output
        typed, output = prompt[1] or "", []
    if typed is not None:
        yield typed, output


def _judge_screen(screen: list[tuple[str, list[str]]]) -> Verdict:
    for typed, output in screen:
        node = unwrapped(read(typed or "unseen"))
        verdict = _by_output(node, output, None)
        if verdict.failed:
            return verdict
    return _PASSED
