"""Reads a shell line into the tree of `syntax`, with tree-sitter-bash.

This is the one place that knows tree-sitter; it is loaded when the first line is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from pmem.core.bash_words import MAX_DEPTH, Words
from pmem.core.syntax import (
    Block,
    Group,
    Item,
    Node,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
    Unread,
    Word,
    in_background,
    literal,
    redirected,
    short_hash,
    spliced,
)

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode
    from tree_sitter import Parser

#: Bytes of a line that are parsed; what comes after is only hashed.
MAX_PARSED = 64 * 1024
#: Words of a command and commands of a sequence that are read; the others are only hashed.
MAX_CHILDREN = 1000
#: More of these in one line are not parsed: tree-sitter takes time by their square.
MAX_PIPES = 1000
MAX_ARRAYS = 300
MAX_HERE_DOCUMENTS = 500
#: Lines up to this many characters are kept as read.
_CACHED = 8 * 1024
#: A normal form is read again as what it came from: `<<1a2b3c4d` is a here-document's hash.
_HASHED = re.compile(rb"(?<!<)<<([0-9a-f]{8})\b")
_MARK = b"hashed_here_document_"
#: tree-sitter-bash 0.25.1 looks up what stands here in a table of 256 places, and may crash the
#: process where it is a letter beyond them (its issue 337).
_AFTER_BRACE = re.compile(rb"(?<=\{)([0-9]*(?:\.\.[0-9]*)?)([\xc0-\xff][\x80-\xbf]*)")
#: The grammar drops a `-` that stands before a redirection with a number: `cat - 2>&1`.
_LONE_DASH = re.compile(rb"(?<=\s)-(?=[ \t]+\d+[<>])")
_HERE_DOCUMENT = re.compile(rb"<<-?[ \t]*['\"\\]?(\w+)[^\n]*\n(?s:.*?)\n[ \t]*\1$", re.MULTILINE)


def read(line: str) -> Sequence:
    """The tree of a shell line. Any string is fine; nothing is raised."""
    return _kept(line) if len(line) <= _CACHED else _read(line)


@lru_cache(maxsize=512)
def _kept(line: str) -> Sequence:
    return _read(line)


def _read(line: str) -> Sequence:
    source = line.encode("utf-8", "replace").replace(b"\0", b" ").replace(b"\r\n", b"\n")
    rest = source[MAX_PARSED:]
    source = source[:MAX_PARSED]
    if b"\n" not in source:
        source = _HASHED.sub(rb"< " + _MARK + rb"\1", source)
    sequence = _unread(source)
    if not _takes_long(source):
        with suppress(RecursionError, ValueError):
            # Places are the same in both: texts are read from the line as it is.
            altered = _LONE_DASH.sub(b"x", _AFTER_BRACE.sub(_letters, source))
            parsed = _parser().parse(altered)
            sequence = _Reader(source).sequence(parsed.root_node, 0)
    if rest:
        sequence = Sequence((*sequence.items, Item(";", Unread(f"#{short_hash(rest)}"))))
    return sequence


def _takes_long(source: bytes) -> bool:
    if source.count(b"=(") > MAX_ARRAYS or source.count(b"<<") > MAX_HERE_DOCUMENTS:
        return True
    return (
        source.count(b"|") > MAX_PIPES and _HERE_DOCUMENT.sub(b"", source).count(b"|") > MAX_PIPES
    )


def _letters(m: re.Match[bytes]) -> bytes:
    return m[1] + b"x" * len(m[2])


def _unread(source: bytes) -> Sequence:
    return Sequence((Item("", Unread(source.decode("utf-8", "replace"))),))


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


_BLOCKS = {
    "for_statement": "for",
    "c_style_for_statement": "for",
    "while_statement": "while",
    "if_statement": "if",
    "case_statement": "case",
    "function_definition": "function",
}
_CLAUSES = frozenset({"do_group", "elif_clause", "else_clause", "case_item"})
_STATEMENTS = frozenset(
    {
        "command",
        "declaration_command",
        "unset_command",
        "test_command",
        "variable_assignment",
        "variable_assignments",
        "redirected_statement",
        "negated_command",
        "pipeline",
        "list",
        "subshell",
        "compound_statement",
        "ERROR",
        *_BLOCKS,
    }
)


class _Reader:
    """Turns tree-sitter's nodes of one source into ours."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.words = Words(source, self.sequence)

    def text(self, node: TreeNode) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def rest(self, children: list[TreeNode]) -> str:
        """The hash of the children that are not read."""
        return short_hash(self.source[children[MAX_CHILDREN].start_byte : children[-1].end_byte])

    def sequence(self, node: TreeNode, depth: int) -> Sequence:
        """The statements among a node's children; operators, comments and brackets are not."""
        return _sequence(list(self._run(node.children, depth)))

    def _run(self, children: list[TreeNode], depth: int) -> list[Item]:
        items: list[Item] = []
        joined = ";"
        for child in children[:MAX_CHILDREN]:
            if child.type in ("&&", "||"):
                joined = child.type
            elif child.type == "&" and items:
                items = in_background(items)
            elif child.type in _STATEMENTS:
                for statement in self._statements(child, depth + 1):
                    items.extend(spliced(joined, statement))
                    joined = ";"
        if len(children) > MAX_CHILDREN:
            items.append(Item(";", Unread(f"#{self.rest(children)}")))
        return items

    def _statements(self, node: TreeNode, depth: int) -> Iterator[Node]:
        """A statement; two where tree-sitter takes assignments on a line of their own for a
        prefix of the next line's command."""
        children = node.children
        if node.type == "command" and children[0].type == "variable_assignment":
            cut = next((i for i, c in enumerate(children) if c.type != "variable_assignment"), 0)
            gap = self.source[children[cut - 1].end_byte : children[cut].start_byte]
            if cut and b"\n" in gap.replace(b"\\\n", b""):
                yield self._simple(children[:cut], depth)
                yield self._simple(children[cut:], depth)
                return
        yield self.statement(node, depth)

    def statement(self, node: TreeNode, depth: int) -> Node:
        kind = node.type
        if depth > MAX_DEPTH or kind == "ERROR":
            return Unread(self.text(node))
        if kind in _BLOCKS:
            return Block(_BLOCKS[kind], tuple(self._pieces(node, depth)))
        if kind == "list":
            return self.sequence(node, depth)
        if kind == "pipeline":
            return self._pipeline(node, depth)
        if kind == "redirected_statement":
            return self._redirected(node, depth)
        if kind == "negated_command":
            return Pipeline(tuple(i.node for i in self._run(node.children, depth)), negated=True)
        if kind in ("subshell", "compound_statement"):
            text = self.text(node)
            if text.startswith("(("):
                return Simple((literal(" ".join(text.split())),))
            return Group(text[:1], self.sequence(node, depth))
        if kind == "test_command":
            return Simple(tuple(self.words.leaves(node, depth)))
        if kind in ("variable_assignment", "variable_assignments"):
            nodes = [node] if kind == "variable_assignment" else node.named_children
            return self._simple(nodes, depth)
        return self._simple(node.children, depth)

    def _pipeline(self, node: TreeNode, depth: int) -> Node:
        before: list[Item] = []
        joined = ""
        parts: list[Node] = []
        for child in node.children:
            if child.type not in _STATEMENTS:
                continue
            part = self._one(child, depth)
            if isinstance(part, Sequence) and not parts:
                # `a && b | c` comes as (a && b) | c: only the last command is piped.
                before, last = list(part.items[:-1]), part.items[-1]
                joined, part = last.joined, last.node
            if isinstance(part, Pipeline) and not part.negated:
                parts.extend(part.parts)
            else:
                parts.append(part)
        piped = Pipeline(tuple(parts)) if len(parts) != 1 else parts[0]
        return Sequence((*before, Item(joined, piped))) if before else piped

    def _one(self, node: TreeNode, depth: int) -> Node:
        """A statement as one node, be it a sequence."""
        statements = list(self._statements(node, depth + 1))
        if len(statements) == 1:
            return statements[0]
        return Sequence(tuple(item for each in statements for item in spliced(";", each)))

    def _redirected(self, node: TreeNode, depth: int) -> Node:
        body: Node = Simple()
        redirects: list[Redirect] = []
        after: list[Item] = []
        for child in node.children[:MAX_CHILDREN]:
            if child.type.endswith("_redirect"):
                redirects.extend(self._redirect(child, depth))
                if child.type == "heredoc_redirect":
                    after.extend(self._after_heredoc(child, depth))
            elif child.type in _STATEMENTS:
                body = self._one(child, depth)
        body = redirected(body, tuple(redirects))
        for item in after:
            if item.joined == "|":
                tail = item.node.parts if isinstance(item.node, Pipeline) else (item.node,)
                head = body.parts if isinstance(body, Pipeline) else (body,)
                body = Pipeline((*head, *tail))
            else:
                body = Sequence((*spliced("", body), *spliced(item.joined, item.node)))
        return body

    def _after_heredoc(self, node: TreeNode, depth: int) -> Iterator[Item]:
        """What stands after `<<EOF` on its line: `| …` or `&& …`."""
        joined = ";"
        for child in node.children:
            if child.type in ("&&", "||"):
                joined = child.type
            elif child.type in _STATEMENTS:
                pipe = child.type == "pipeline"
                yield Item("|" if pipe else joined, self.statement(child, depth + 1))

    def _redirect(self, node: TreeNode, depth: int) -> Iterator[Redirect]:
        if node.type == "heredoc_redirect":
            body = b""
            for child in node.children:
                if child.type == "heredoc_body":
                    body = self.source[child.start_byte : child.end_byte]
                elif child.type.endswith("_redirect"):
                    yield from self._redirect(child, depth)
            yield Redirect("<<", literal(short_hash(body)))
            return
        descriptor, operator = "", ""
        for child in node.children:
            if child.type == "file_descriptor":
                descriptor = self.text(child)
            elif not operator and not child.is_named:
                operator = child.type
                if operator in (">&-", "<&-"):
                    yield Redirect(descriptor + operator[:2], literal("-"))
            elif child.type == "word" and self.text(child).startswith(_MARK.decode()):
                yield Redirect("<<", literal(self.text(child)[len(_MARK) :]))
            else:
                yield Redirect(descriptor + operator, self.words.word(child, depth))

    def _simple(self, children: list[TreeNode], depth: int) -> Node:
        words: list[Word] = []
        assignments: list[Word] = []
        redirects: list[Redirect] = []
        timed: Node | None = None
        for child in children[:MAX_CHILDREN]:
            kind = child.type
            if kind == "variable_assignment" and not words:
                assignments.append(self.words.word(child, depth))
            elif kind.endswith("_redirect"):
                redirects.extend(self._redirect(child, depth))
            elif kind in ("subshell", "compound_statement"):  # time ( … )
                timed = self.statement(child, depth + 1)
            else:
                words.append(self.words.word(child, depth))
        if len(children) > MAX_CHILDREN:
            words.append(literal(f"…{self.rest(children)}"))
        if timed is not None:
            return redirected(timed, tuple(redirects))
        return Simple(tuple(words), tuple(assignments), tuple(redirects))

    def _pieces(self, node: TreeNode, depth: int) -> Iterator[str | Sequence]:
        """A block's own words as text, its statements as sequences, in the order written."""
        if depth > MAX_DEPTH:
            yield self.text(node)
            return
        run: list[TreeNode] = []
        for child in node.children:
            if child.type in (";", "\n", "comment"):
                continue
            if (child.type in _STATEMENTS and child.type != "compound_statement") or (
                run and child.type in ("&", "&&", "||")
            ):
                run.append(child)
                continue
            if run:
                yield _sequence(self._run(run, depth))
                run = []
            if child.type in _CLAUSES:
                yield from self._pieces(child, depth + 1)
            elif child.type == "compound_statement":
                yield Sequence((Item("", self.statement(child, depth + 1)),))
            elif child.is_named:
                yield self.words.word(child, depth).text
            else:
                yield self.text(child).strip()
        if run:
            yield _sequence(self._run(run, depth))


def _sequence(items: list[Item]) -> Sequence:
    if items:
        items[0] = replace(items[0], joined="")
    return Sequence(tuple(items))
