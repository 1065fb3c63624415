"""A fingerprint of an output: the same for two runs that said the same thing.

Left out is what differs from run to run: times and durations, addresses, process ids, uuids,
random names below temporary directories, progress. File names, line numbers, numbers of tests
and every word stay.
"""

from __future__ import annotations

import hashlib
import re

from pmem.core.text import clean

#: Lines looked at from the beginning and from the end, and characters of each.
HEAD_LINES = 100
TAIL_LINES = 200
MAX_LINE = 1000
#: Characters in which those lines are looked for, half from each end.
MAX_CHARS = 128 * 1024

# Every pattern begins with the characters it can begin with, and looks back only then: so the
# regex engine skips the rest of the text fast. What stands before comes as `(?<!…)` after it.
_UNIT = (
    r"(?:ns|[uµμ]s|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?"
    r"|milliseconds?|microseconds?|초|분|秒|分|毫秒|ミリ秒)"
)
_CLOCK = r"\d\d?:\d\d:\d\d(?:[.,]\d+)?"
_ZONE = r"(?:Z|[+-]\d\d:?\d\d)"
_NUMERIC = re.compile(
    r"\d(?:"
    # 2026-11-30, 2026-11-30T14:12:00.5Z
    rf"(?<![\w-]\d)\d{{3}}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?{_ZONE}?)?(?![\w-])"
    # 14:12:00, 2:12:00.5 PM
    r"|(?<![\w:.]\d)\d?:\d\d:\d\d(?:[.,]\d+)?(?:\s?[AaPp][Mm])?(?![\w:])"
    # 0.5s, 12 ms, 1m3.2s
    rf"|(?<![\w.:-]\d)\d*(?:[.,]\d+)?\s?{_UNIT}(?:\s?\d+(?:[.,]\d+)?\s?{_UNIT})*(?![\w-])"
    # 45%, 3.2 MB/s, 12/40, (3 of 10)
    r"|(?<![\w.]\d)\d*(?:\.\d+)?\s?(?:%|[kKMGT]?i?(?:B|b|bytes|bit)/s\b)"
    r"|(?<![\w/.-]\d)\d*\s?(?:/|of )\s?\d+(?=[])\s.:,;…]|$)"
    r")",
    re.MULTILINE,
)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_STAMP = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+)?"
    rf"(?:{_MONTH}\s+\d\d?|\d\d?\s+{_MONTH})(?:,?\s+\d{{4}})?,?\s+{_CLOCK}"
    rf"(?:\s+(?:[A-Z]{{2,4}}\b|{_ZONE}))?(?:\s+\d{{4}})?"
)
_CLOCKS = re.compile(r":\d\d:\d\d")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{5,16}\b|(?<=\w)@[0-9a-f]{6,16}\b")
_PORT = re.compile(
    r":(?:3[2-9]|[45]\d|6[0-5])\d{3}\b(?:(?<=localhost:\d{5})|(?<=127\.0\.0\.1:\d{5})"
    r"|(?<=0\.0\.0\.0:\d{5}))"
)
_PROCESS = re.compile(
    r"(?:pid|PID|Pid|[Pp]rocess(?: id| ID)?|tid|goroutine)[\s:=#]*[(\[]?\d+\b"
    r"|==\d+==|^\[\d+\] \d{2,}$"
    r"|\(\d+\)(?= panicked)",
    re.MULTILINE,
)
_LOG_NAME = re.compile(r"\[\d{2,7}\](?=:)")
_BAR = re.compile(r"[#=>█▉▊▋▌▍▎▏░▒▓━╸╺]{3,}|[\u2800-\u28ff◐◓◑◒]+|\[[-=#>. ]{5,}\]")
_TEMPORARY = re.compile(
    r"(?:/private)?(?:/var/tmp|/tmp|/var/folders/\w+/\w+/\w)(?P<below>(?:/[\w.@+~-]+)+)"
    r"|\$\{?TMPDIR\}?(?P<named>(?:/[\w.@+~-]+)+)"
)
_RANDOM = re.compile(
    r"tmp\.?[A-Za-z0-9_]{6,12}(?![A-Za-z0-9_])"
    # six or more letters and digits in one, six, eight or ten letters of mixed case, four digits
    r"|(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{6,}"
    r"|(?<![A-Za-z0-9])(?=[A-Za-z]*[a-z][A-Z])(?:[A-Za-z]{10}|[A-Za-z]{8}|[A-Za-z]{6})"
    r"(?![A-Za-z0-9])"
    r"|(?<=[A-Za-z._/-])\d{4,}"
)
_SPACES = re.compile(r"[ \t]+")


def fingerprint(text: str) -> str:
    """16 hex digits of what an output says; any string is fine, the empty one too."""
    return hashlib.blake2s(essence(text).encode("utf-8", "replace"), digest_size=8).hexdigest()


def essence(text: str) -> str:
    """The text of which the fingerprint is taken: what varies is replaced by its kind."""
    lines: list[str] = []
    for line in _SPACES.sub(" ", _constant("\n".join(_looked_at(text)))).split("\n"):
        line = line.strip()
        # A progress display prints one line many times.
        if line and not (lines and lines[-1] == line):
            lines.append(line)
    return "\n".join(lines)


def _looked_at(text: str) -> list[str]:
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}"
    lines = clean(text).split("\n")
    if len(lines) > HEAD_LINES + TAIL_LINES:
        lines = [*lines[:HEAD_LINES], *lines[-TAIL_LINES:]]
    return [line[:MAX_LINE] for line in lines]


def _constant(text: str) -> str:
    if "/tmp" in text or "/var/" in text or "TMPDIR" in text:
        text = _TEMPORARY.sub(_placed, text)
    if "-" in text:
        text = _UUID.sub("<uuid>", text)
    if ":" in text:
        if _CLOCKS.search(text):
            text = _STAMP.sub("<time>", text)
        text = _PORT.sub(":<port>", text)
        text = _LOG_NAME.sub("<process>", text)
    text = _ADDRESS.sub("<address>", text)
    text = _PROCESS.sub("<process>", text)
    text = _NUMERIC.sub("<number>", text)
    return _BAR.sub("<bar>", text)


def _placed(match: re.Match[str]) -> str:
    return f"<tmp>{_RANDOM.sub('<random>', match['below'] or match['named'])}"
