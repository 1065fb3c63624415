"""Reads one word of a shell line: its quoted pieces, its expansions and the scripts inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pmem.core.spelling import Fragment, spell
from pmem.core.syntax import Sequence, Word

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode

#: Nesting that is followed; deeper parts stay text.
MAX_DEPTH = 60

_PLAIN = frozenset({"word", "number", "variable_name", "extglob_pattern", "regex"})
_WORDS = frozenset(
    {
        "string",
        "raw_string",
        "ansi_c_string",
        "concatenation",
        "simple_expansion",
        "expansion",
        "arithmetic_expansion",
        "command_substitution",
        "process_substitution",
        *_PLAIN,
    }
)


class Words:
    """Turns tree-sitter's nodes of words into ours; `sequence` reads the script of a `$(…)`."""

    def __init__(self, source: bytes, sequence: Callable[[TreeNode, int], Sequence]) -> None:
        self.source = source
        self.sequence = sequence

    def text(self, node: TreeNode) -> str:
        """What a node stands for in the source."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def leaves(self, node: TreeNode, depth: int) -> Iterator[Word]:
        """The words of a `[[ … ]]`, operators among them."""
        for child in node.children:
            if child.type in _WORDS or not child.child_count or depth > MAX_DEPTH:
                yield self.word(child, depth)
            else:
                yield from self.leaves(child, depth + 1)

    def word(self, node: TreeNode, depth: int) -> Word:
        """The word a node stands for."""
        return spell(list(self._fragments(node, depth, quoted=False)))

    def _fragments(self, node: TreeNode, depth: int, quoted: bool) -> Iterator[Fragment]:
        kind = node.type
        plain = "quoted" if quoted else "plain"
        if kind in _PLAIN:
            yield Fragment(self.text(node), plain)
        elif kind == "raw_string":
            yield Fragment(self.text(node)[1:-1], "raw")
        elif kind == "ansi_c_string":
            yield Fragment(self.text(node)[2:-1], "ansi")
        elif depth > MAX_DEPTH:
            yield Fragment(self.text(node), "expansion")
        elif kind in ("command_substitution", "process_substitution"):
            opening = "$(" if kind == "command_substitution" else self.text(node).lstrip()[:2]
            yield Fragment(opening, "script", (self.sequence(node, depth + 1),))
        elif kind in ("simple_expansion", "expansion", "arithmetic_expansion"):
            scripts = tuple(self._scripts(node, depth))
            yield Fragment(self.text(node).lstrip(), "expansion", scripts)
        elif node.child_count:
            yield from self._joined(node, depth, quoted=kind == "string")
        else:
            yield Fragment(self.text(node), plain)

    def _joined(self, node: TreeNode, depth: int, quoted: bool) -> Iterator[Fragment]:
        """The fragments of a string, a concatenation or an assignment, with what tree-sitter
        takes as part of the next token or of none (spaces at the edge of a string)."""
        plain = "quoted" if quoted else "plain"
        at = node.start_byte
        for child in node.children:
            gap = self.source[at : child.start_byte].decode("utf-8", "replace")
            if gap:
                yield Fragment(gap, plain)
            at = child.end_byte
            if quoted and child.type != "string_content":
                text = self.text(child)
                yield Fragment(text[: len(text) - len(text.lstrip())], plain)
            if not (quoted and child.type == '"'):
                yield from self._fragments(child, depth + 1, quoted)

    def _scripts(self, node: TreeNode, depth: int) -> Iterator[Sequence]:
        for child in node.children if depth <= MAX_DEPTH else ():
            if child.type in ("command_substitution", "process_substitution"):
                yield self.sequence(child, depth + 1)
            elif child.child_count:
                yield from self._scripts(child, depth + 1)
