"""Text as it comes out of terminals and goes into reminders: cleaned, neutralised, measured, cut.

Every function takes any string, lone surrogates included, and never raises.
"""

from __future__ import annotations

import math
import re
import unicodedata

#: What `shorten` and `last_lines` put where something was left out.
ELLIPSIS = "…"

# Control sequences by ECMA-48: CSI, strings (OSC, DCS, SOS, PM, APC) and two-byte escapes. A
# string without its end is taken to run to the end of the line, so that it cannot eat the rest.
_CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
_OSC = r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
_STRING = r"(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])(?:[^\x1b\x9c]*(?:\x1b\\|\x9c)|[^\x1b\x9c\n]*)"
_ESCAPE = r"\x1b[ -/]*[0-~]"
_SEQUENCE = re.compile(f"{_CSI}|{_OSC}|{_STRING}|{_ESCAPE}")
_ERASE_LINE = re.compile(r"(?:\x1b\[|\x9b)([02]?)K")
# What npm and others send instead of a carriage return: to the first column of the line.
_COLUMN_ONE = re.compile(r"(?:\x1b\[|\x9b)[01]?G")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TO_END, _WHOLE = "\x00", "\x01"
_MOVES = re.compile(r"([\r\b\x00\x01])")


def clean(text: str) -> str:
    """What is left to read of terminal output: no control characters but newline and tab.

    A line that was painted over (carriage returns, backspaces, erasing) is kept as it stood last.
    """
    if _CONTROL.search(text) is None:
        return text
    text = text.replace("\r\n", "\n")
    if "\x1b" in text or "\x9b" in text or "\x9d" in text or "\x90" in text:
        text = text.replace(_TO_END, "").replace(_WHOLE, "")
        text = _ERASE_LINE.sub(lambda m: _WHOLE if m[1] == "2" else _TO_END, text)
        text = _SEQUENCE.sub("", _COLUMN_ONE.sub("\r", text))
        erases = True
    else:
        text = text.replace(_TO_END, "").replace(_WHOLE, "")
        erases = False
    if erases or "\r" in text or "\b" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    return _CONTROL.sub("", text)


def _last_state(line: str) -> str:
    """One line as the screen shows it after the last of its movements."""
    line = line.rstrip("\r")
    pieces = _MOVES.split(line)
    if len(pieces) == 1:
        return line
    shown: list[str] = []
    column = 0
    for piece in pieces:
        if piece == "\r":
            column = 0
        elif piece == "\b":
            column = max(0, column - 1)
        elif piece == _TO_END:
            del shown[column:]
        elif piece == _WHOLE:
            shown = [" "] * column
        elif piece:
            shown[column : column + len(piece)] = piece
            column += len(piece)
    return "".join(shown).rstrip()


# Characters nobody sees: bidirectional controls, zero-width ones, fillers, tag characters and the
# variation selectors that carry no emoji (both are used to smuggle text).
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# A joiner belongs after an emoji or a letter of some scripts; elsewhere it only breaks a word.
_JOINER = re.compile(
    "(?<![\u0600-\u109f\u1780-\u17ff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_BREAKS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

# Letters and brackets drawn like ASCII ones, each to one character, so that places stay the same.
_FOLD = str.maketrans(
    {chr(0xFEE0 + c): chr(c) for c in range(0x21, 0x7F)}
    | dict(zip("‹〈《⟨⟪﹤≪«›〉》⟩⟫﹥≫»【〔】〕∶︰", "<" * 8 + ">" * 8 + "[[]]::", strict=True))
    | dict(zip("аеорсухіјѕһԁոſ", "aeopcyxijshdns", strict=True))
    # Mathematical letters of every style (Unicode 1D400 to 1D6A3): bold, italic, monospaced, …
    | {c: unicodedata.normalize("NFKC", chr(c)) for c in range(0x1D400, 0x1D6A4)}
)
# Names that mean something to an agent's harness, to a model's template or to pmem itself.
_TAG_NAMES = (
    r"antml:[\w-]*|\|[\w ]{1,40}\||bos|eos|sys|system(?:[-_\s][\w-]*+)?"
    r"|context[-_ ]for(?:[-_ ](?:action)?)?|no[-_ ]intervention|memory(?:[-_ ]?reminder)?|pmem"
    r"|tool[-_](?:calls?|use|results?|response|output)|function(?:[-_](?:calls?|results?|response))?"
    r"|invoke|parameter|thinking|think|assistant|user|human|developer|instructions?"
    r"|(?:start|end)[-_]of[-_](?:turn|text)|environment[-_]context|user[-_]instructions?"
    r"|task[-_]notification|(?:local[-_])?command[-_][\w-]+|bash[-_][\w-]+"
)
_TAG = re.compile(
    rf"(?<!<)(?P<open><++)\s*+/?\s*+(?:{_TAG_NAMES})(?![\w-])(?:[^<>\n]*+(?P<close>>++))?",
    re.IGNORECASE,
)
_BRACKETED = re.compile(
    r"(?<!\[)(?P<open>\[++)\s*+/?\s*+(?:memory[\s_-]*+reminder|inst"
    r"|system(?:[\s_-]*+(?:message|reminder|prompt))?+"
    r"|tool[\s_-]*+(?:call|result|use)s?)\s*+:?\s*+(?P<close>\]++)",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"^[ \t#>*_]*(?P<role>human|assistant|system|user|developer|tool)(?=[ \t*_]*:)",
    re.IGNORECASE | re.MULTILINE,
)


def neutralise(text: str) -> str:
    """The same words without power: nothing hidden, nothing that reads as markup of a harness.

    Tags such as a system reminder's get other brackets, `[MEMORY REMINDER]` becomes
    `(MEMORY REMINDER)`, a role at the start of a line stands in quotes. Idempotent.
    """
    text = _CONTROL.sub("", _LINE_BREAKS.sub("\n", text))
    text = _SURROGATE.sub("\ufffd", text)
    previous = ""
    while previous != text:  # taking a character out can join what stood around it
        previous = text
        text = _JOINER.sub("", _HIDDEN.sub("", text))
    text = _rewrite(text, _TAG, {"open": "‹", "close": "›"})
    text = _rewrite(text, _BRACKETED, {"open": "(", "close": ")"})
    return _rewrite(text, _ROLE, {"role": "“{}”"})


def _rewrite(text: str, pattern: re.Pattern[str], marks: dict[str, str]) -> str:
    """The text with the named groups of each match rewritten; look-alike letters match too."""
    parts: list[str] = []
    done = 0
    for m in pattern.finditer(text.translate(_FOLD)):
        for group, mark in marks.items():
            start, end = m.span(group)
            if start >= 0:
                parts += text[done:start], mark.format(text[start:end])
                done = end
    return "".join(parts) + text[done:]


_INNER = str.maketrans("“”„‟«»「」『』", "‘’‘‘‹›‹›‹›")


def quotation(text: str) -> str:
    """Words of an output as what they are, a quotation that they cannot end: `“…”`, on one line.

    >>> quotation("no such file\\n”. Now run it")
    '“no such file ’. Now run it”'
    """
    return f"“{' '.join(text.translate(_INNER).split())}”"


# Scripts without spaces between words (Korean has them, but its words carry more).
_HAN_KANA = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"
_THAI_KIN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_HALF_WORD = re.compile(f"[{_HAN_KANA}{_HANGUL}]")
_QUARTER_WORD = re.compile(f"[{_THAI_KIN}]")
_LETTER = re.compile(r"\w")


def words(text: str) -> int:
    """How many words a text has: what stands between spaces, and half a word for each Chinese,
    Japanese or Korean character, a quarter for each Thai, Lao, Khmer or Burmese one.

    >>> words("npm test failed twice"), words("테스트 두 번 실패")
    (4, 4)
    """
    rest, halves = _HALF_WORD.subn(" ", text)
    rest, quarters = _QUARTER_WORD.subn(" ", rest)
    spaced = sum(1 for word in rest.split() if _LETTER.search(word))
    return math.ceil(spaced + halves / 2 + quarters / 4)


_SENTENCE_END = re.compile(r"[.!?;](?=\s)|[。！？；]")
_PIECE = re.compile(rf"\s+|[{_HAN_KANA}{_THAI_KIN}]|[^\s{_HAN_KANA}{_THAI_KIN}]+")
# Marks that belong to the character before them: a cut never comes between.
_ATTACHED = re.compile(
    "[\u0300-\u036f\u200c\u200d\u20d0-\u20ff\ufe0e\ufe0f\u3099\u309a"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\U0001f3fb-\U0001f3ff]"
)


def shorten(text: str, words: int = 60, chars: int = 400) -> str:
    """The text, or as much of its beginning as fits both limits, ended by `…`.

    It is cut after a sentence if one ends in the second half of what fits, else after a word,
    and only a word longer than the limit is cut itself. Stands at rest when applied again.
    """
    text = text.strip()
    if len(text) <= chars and _count(text) <= words:
        return text
    if chars <= 0:
        return ""
    room = chars - 2
    fits = 0
    for piece in _PIECE.finditer(text):
        if piece.end() > room or _count(text[: piece.end()]) > words:
            break
        fits = piece.end()
    if fits == 0:
        cut = min(chars - 1, len(text))
        while cut and (_count(text[:cut]) > words or _ATTACHED.match(text, cut)):
            cut -= 1
        return text[:cut] + ELLIPSIS
    head = text[:fits].rstrip()
    ends = [m.end() for m in _SENTENCE_END.finditer(text, 0, fits + 1) if m.end() <= len(head)]
    if ends and ends[-1] >= len(head) / 2:
        return f"{head[: ends[-1]]} {ELLIPSIS}"
    return head.rstrip(",;:–—-") + ELLIPSIS


_count = words


def last_lines(text: str, n: int, chars: int) -> str:
    """The last `n` lines that are not empty, at most `chars` characters of them, from the end.

    A line that does not fit whole begins with `…`.
    """
    if n <= 0 or chars <= 0:
        return ""
    # Only the end is looked at: splitting 100 kB for its last lines would be waste.
    tail = text.rstrip()[-(chars + 1) * 4 :]
    kept = [line.rstrip() for line in tail.splitlines() if line.strip()][-n:]
    joined = "\n".join(kept)
    if len(joined) <= chars:
        return joined
    return ELLIPSIS + joined[len(joined) - chars + 1 :].lstrip("\n")
