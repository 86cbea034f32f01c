"""A shell line as the simple commands that it runs, and the reasons for which it may run others (X4).

Every simple command counts by itself, wherever it stands: in lists, pipes, groups, functions, substitutions, and text
that is put into double quotes or here-documents. What this does not know for certain becomes a doubt: with a doubt,
no rule that allows commands lets a line through.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from .computing import COMPUTES, compares_unknown, is_number, takes_part
from .here_documents import doubt_of_here_document
from .shell_parser import WORDS, inside, leaves, outermost, parsed, pieces
from .shell_words import NoWordError, Word, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

LINE_MAX_BYTES: Final = 16 * 1024
"""A longer line is not taken apart, and so not understood."""

_DEPTH_MAX: Final = 60
_DOUBTS_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class Redirection:
    """A file that a command reads or writes by redirection; ``target`` is None where it is not understood."""

    access: Literal["read", "write"]
    target: Word | None


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program and its arguments, with the variables that are set for it alone."""

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The first word as far as it is known."""
        return self.words[0].text if self.words else ""


@dataclass(slots=True)
class ShellLine:
    """What a line comes to.

    ``doubts`` say why there may be more to it than ``commands`` and ``redirections``; each completes "the line ...".
    """

    commands: list[SimpleCommand] = field(default_factory=list[SimpleCommand])
    redirections: list[Redirection] = field(default_factory=list[Redirection])
    doubts: list[str] = field(default_factory=list[str])

    def doubt(self, why: str) -> None:
        """Take note of a reason, once."""
        if why not in self.doubts and len(self.doubts) < _DOUBTS_MAX:
            self.doubts.append(why)

    def not_understood(self, why: str) -> None:
        """Take note of a reason for which it may redirect to any file as well."""
        self.doubt(why)
        self.redirections += [Redirection("write", None), Redirection("read", None)]


def read_line(line: str) -> ShellLine:
    """Take a line apart; bounded in time whatever it is."""
    result = ShellLine()
    try:
        source = line.encode()
    except UnicodeEncodeError:
        result.not_understood("is not valid Unicode")
        return result
    if len(source) > LINE_MAX_BYTES:
        result.not_understood(f"has {len(source)} bytes, and one of more than {LINE_MAX_BYTES} is not taken apart")
        return result
    if b"\0" in source:
        result.not_understood("has a NUL character")
        return result
    if b"$\\\n" in source:
        result.doubt("has a $ at the end of a line that goes on")
    root = parsed(source)
    reader = _Reader(source, result)
    if root.has_error:
        result.not_understood("is not understood by the parser")
    reader.check_leaves(root)
    reader.visit(root, 0)
    return result


_STATEMENTS: Final = frozenset(
    {
        "program", "list", "pipeline", "subshell", "compound_statement", "if_statement", "elif_clause", "else_clause",
        "while_statement", "for_statement", "c_style_for_statement", "do_group", "case_statement", "case_item",
        "negated_command", "function_definition", "command_substitution", "process_substitution", "string",
        "concatenation", "expansion", "arithmetic_expansion", "simple_expansion", "binary_expression",
        "unary_expression", "postfix_expression", "parenthesized_expression", "ternary_expression",
        "brace_expression", "subscript", "array", "command_name",
    }
)  # fmt: skip
"""What holds commands and does nothing by itself that would have to be judged."""

_LEAVES: Final = frozenset(
    {
        "word", "number", "raw_string", "ansi_c_string", "string_content", "variable_name", "special_variable_name",
        "comment", "test_operator", "heredoc_content", "file_descriptor", "regex", "extglob_pattern",
    }
)  # fmt: skip

_ON_ONE_LINE: Final = frozenset(
    {
        "command", "declaration_command", "unset_command", "redirected_statement", "file_redirect",
        "herestring_redirect", "concatenation", "variable_assignment", "variable_assignments", "command_name",
    }
)  # fmt: skip
_HOLDERS: Final = frozenset(
    {
        "program", "list", "pipeline", "subshell", "do_group", "command_substitution", "process_substitution",
        "negated_command", "if_statement", "elif_clause", "else_clause", "while_statement", "redirected_statement",
    }
)  # fmt: skip
"""Where nothing stands but commands and what joins them."""

_BLANKS: Final = re.compile(rb"(?:[ \t]|\\\n)*")
_BETWEEN: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_COMMENT_PARENTS: Final = frozenset(
    {
        "program", "list", "pipeline", "subshell", "compound_statement", "if_statement", "elif_clause", "else_clause",
        "while_statement", "for_statement", "do_group", "case_statement", "case_item", "command_substitution",
        "process_substitution",
    }
)  # fmt: skip
_WRITES: Final = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
_READS: Final = frozenset({"<", "<&", "<>"})
_HARMLESS_VARIABLES: Final = frozenset({"CI", "COLUMNS", "FORCE_COLOR", "LANG", "LINES", "NO_COLOR", "TZ"})


def is_harmless_variable(name: str) -> bool:
    """Whether setting a variable makes no program do something else."""
    return name in _HARMLESS_VARIABLES or (name.startswith("LC_") and name[3:].isalpha())


class _Reader:
    def __init__(self, source: bytes, result: ShellLine) -> None:
        self._source = source
        self._result = result

    # --- what the parser says, checked against the text -------------------------------------------------------------

    def check_leaves(self, root: Node) -> None:
        """Between the parser's pieces there is nothing but blanks, so that it passed over nothing."""
        end = 0
        for node in leaves(root, self._check_gaps):
            if not _BETWEEN.fullmatch(self._source, end, max(end, node.start_byte)):
                self._result.doubt(f"has {self._shown(end, node.start_byte)!r}, which is not understood")
                return
            if node.start_byte > end and _JOINED.fullmatch(self._source, end, node.start_byte):
                self._result.doubt("goes on in the next line in the middle of a word")
            if node.type == "comment":
                self._check_comment(node)
            end = max(end, node.end_byte)
        if not _BETWEEN.fullmatch(self._source, end):
            self._result.doubt("has an end that is not understood")

    def _check_gaps(self, node: Node) -> None:
        """Within a simple command no line ends, which the parser may pass over; nothing stands where commands do."""
        if node.type in _ON_ONE_LINE:
            ends = [node.start_byte]
            for child in node.children:
                if not _BLANKS.fullmatch(self._source, ends[-1], max(ends[-1], child.start_byte)):
                    self._result.doubt("has a line end of which it is not clear what it ends")
                ends.append(child.end_byte)
        elif node.type in _HOLDERS and any(child.type in _LEAVES - {"comment"} for child in node.children):
            self._result.doubt("has a word where a command is expected")
        elif node.type == "compound_statement" and not node.named_child_count:
            self._result.doubt("has empty braces where a command is expected")

    def _check_comment(self, node: Node) -> None:
        before = self._source[node.start_byte - 1 : node.start_byte]
        is_own = before in {b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")"}
        parent = node.parent
        whole = b"\n" not in self._source[node.start_byte : node.end_byte]
        if not (is_own and whole and parent is not None and parent.type in _COMMENT_PARENTS):
            self._result.doubt("has a # of which it is not clear whether a comment begins there")

    # --- commands ----------------------------------------------------------------------------------------------------

    def visit(self, node: Node, depth: int) -> None:
        """Take in all that a node holds."""
        if depth > _DEPTH_MAX:
            self._result.doubt("is nested too deeply")
            return
        kind = node.type
        if kind in {"command", "declaration_command", "unset_command"}:
            self._command(node, (), depth)
        elif kind == "test_command":
            self._test(node, depth)
        elif kind == "redirected_statement":
            self._redirected(node, depth)
        elif kind in {"file_redirect", "herestring_redirect", "heredoc_redirect"}:
            # One that stands here belongs to no single command; its further words then belong to nobody.
            if self._redirect(node, depth):
                self._result.doubt("has words behind a redirection that belong to no command")
        elif kind in {"variable_assignment", "variable_assignments"}:
            self._assignment(node, depth)
        else:
            self._other(node, depth)

    def _other(self, node: Node, depth: int) -> None:
        kind = node.type
        if kind == "command_substitution" and self._source[node.start_byte : node.start_byte + 1] == b"`":
            self._backquoted(node)
        if node.is_named and kind not in _STATEMENTS and kind not in _LEAVES:
            self._result.doubt(
                "is not understood by the parser" if kind == "ERROR" else f"has a {kind.replace('_', ' ')}"
            )
        if kind == "negated_command" and not re.match(r"![ \t\n]", self._text(node)):
            self._result.doubt("has a ! that may belong to a word")
        if kind in {"subscript", "array"}:
            self._result.doubt("has an array")
        if kind == "for_statement":
            self._loop(node)
        if kind == "compound_statement" and self._text(node).startswith("(("):
            self._result.doubt("computes by (( )), where some shells run commands")
        if kind == "arithmetic_expansion" and not is_number(self._bytes(node)[2:]):
            self._result.doubt(COMPUTES)
        if kind == "c_style_for_statement" or (kind == "command_substitution" and self._text(node)[:3] == "$(("):
            self._result.doubt(COMPUTES)  # where the parser sees a substitution, a shell would still compute
        if kind == "expansion":
            self._check_expansion(node)
        if kind in {"regex", "extglob_pattern"} and not _PLAIN_PATTERN.fullmatch(self._text(node)):
            self._result.doubt(f"has {self._text(node)[:40]!r}, which is not understood")
        for child in node.children:
            self.visit(child, depth + 1)

    def _without_substitutions(self, node: Node) -> bytes:
        """The text of an expansion, but for the commands in it that the parser has found."""
        text = bytearray(self._source[node.start_byte : node.end_byte])
        for each in inside(node, "command_substitution"):
            start, end = each.start_byte - node.start_byte, each.end_byte - node.start_byte
            text[start:end] = b" " * (end - start)
        return bytes(text)

    def _check_expansion(self, node: Node) -> None:
        """What ``${...}`` does besides telling a value, but for the commands in it that the parser has found."""
        text = self._without_substitutions(node)
        if re.search(rb"[()<>`&|;]", text):
            # A process substitution in there is run by a shell, and not seen by the parser.
            self._result.doubt("has an expansion that is not understood")
        if re.match(rb"\$\{\w*:?=", text) or re.search(rb"@[A-Za-z]\}$", text):
            self._result.doubt("has an expansion that sets a variable, or runs what is in one")
        if text.startswith(b"${!"):
            self._result.doubt("has an expansion of a variable that another one names")
        if takes_part(self._bytes(node)):
            self._result.doubt(COMPUTES)

    def _loop(self, node: Node) -> None:
        name = next((self._text(child) for child in node.children if child.type == "variable_name"), "")
        # A small name is a variable of the line's own; but for these, which programs look for.
        if not name.islower() or name.endswith("_proxy"):
            self._result.doubt(f"sets the variable {name[:40]}")

    def _test(self, node: Node, depth: int) -> None:
        """A test runs nothing but what is expanded or computed in it; ``[`` is a command like any other."""
        bracket = self._text(node.children[0])
        if bracket == "[":
            self._bracket(node)
        else:
            if compares_unknown(self._bytes(node)):
                self._result.doubt(COMPUTES)
            self._result.commands.append(SimpleCommand((Word(bracket),)))
        for child in node.children:
            self.visit(child, depth + 1)

    def _bracket(self, node: Node) -> None:
        """The parser sees an expression, where a shell sees words, and perhaps the end of the command."""
        parts: list[tuple[int, int, list[Node]]] = []
        end = node.children[0].end_byte
        for each in pieces(node):
            if not _BLANKS.fullmatch(self._source, end, max(end, each.start_byte)):
                self._result.not_understood("has a line end of which it is not clear what it ends")
            self._part(each, parts)
            end = max(end, each.end_byte)
        words = [self._word(*part) for part in parts]
        ends = self._source[node.start_byte + 1 : node.start_byte + 2] + self._source[node.end_byte - 2 : node.end_byte]
        if not re.fullmatch(rb"[ \t][ \t]\]", ends) or any(word.text == "\0" and word.splits for word in words):
            self._result.not_understood("has a test that is not understood")
        self._result.commands.append(SimpleCommand((Word("["), *words, Word("]"))))

    def _backquoted(self, node: Node) -> None:
        inside = self._source[node.start_byte + 1 : node.end_byte - 1]
        if b"\\" in inside or b"`" in inside:
            # A backslash there is taken away first, and what is then left is parsed.
            self._result.doubt("has a backslash between backquotes")
            self._nested(re.sub(rb"\\([$`\\])", rb"\1", inside).decode(errors="replace"))

    def _nested(self, line: str) -> None:
        inner = read_line(line)
        self._result.commands += inner.commands
        self._result.redirections += inner.redirections

    def _assignment(self, node: Node, depth: int) -> None:
        if node.type == "variable_assignment":
            name = self._text(node).partition("=")[0]
            if not is_harmless_variable(name):
                self._result.doubt(f"sets the variable {name[:40]}")
        for child in node.children:
            self.visit(child, depth + 1)

    def _redirected(self, node: Node, depth: int) -> None:
        body = node.child_by_field_name("body")
        more: list[Node] = []
        for child in node.children:
            if child != body:
                if child.type.endswith("_redirect"):
                    more += self._redirect(child, depth + 1)
                else:
                    self.visit(child, depth + 1)
        if body is not None and body.type == "command":
            self._command(body, tuple(more), depth + 1)
            return
        if more:
            self._result.doubt("has words behind a redirection that belong to no command")
        if body is not None:
            self.visit(body, depth + 1)

    def _command(self, node: Node, more: tuple[Node, ...], depth: int) -> None:
        """One simple command; ``more`` are words of it that stand behind a redirection."""
        assignments: list[str] = []
        parts: list[tuple[int, int, list[Node]]] = []
        later = list(more)
        end = -1
        for child in node.children:
            kind = child.type
            if 0 <= end <= child.start_byte and _JOINED.fullmatch(self._source, end, child.start_byte):
                self._result.not_understood("has a redirection of which it is not clear where it ends")
            end = -1
            if kind.endswith("_redirect"):
                end = child.end_byte
                later += self._redirect(child, depth + 1)
            elif kind == "variable_assignment" and node.type == "command":
                assignments.append(self._text(child).partition("=")[0])
                self._inner(child, depth)
            else:
                self._part(child, parts)
                self._inner(child, depth)
        for child in sorted(later, key=lambda each: each.start_byte):
            self._part(child, parts)
            self._inner(child, depth)
        words = tuple(self._word(*part) for part in sorted(parts, key=lambda each: each[0]))
        for name in assignments:
            if not is_harmless_variable(name):
                self._result.doubt(f"sets the variable {name[:40]}")
        if words:
            self._result.commands.append(SimpleCommand(words, tuple(assignments)))

    def _inner(self, node: Node, depth: int) -> None:
        if node.type == "variable_assignment":
            for child in node.children:
                self.visit(child, depth + 1)
        else:
            self.visit(node, depth + 1)

    def _part(self, node: Node, parts: list[tuple[int, int, list[Node]]]) -> None:
        """Add a piece of a word, or a word; pieces that touch each other are one."""
        if node.start_byte == node.end_byte:
            return
        if parts and _JOINED.fullmatch(self._source, parts[-1][1], node.start_byte):
            start, _, nodes = parts.pop()
            parts.append((start, node.end_byte, [*nodes, node]))
        else:
            parts.append((node.start_byte, node.end_byte, [node]))

    def _word(self, start: int, end: int, nodes: list[Node]) -> Word:
        try:
            return self._read(start, end, nodes)
        except NoWordError:
            self._result.doubt(f"has {self._shown(start, end)!r}, which is not understood")
            return Word("\0", splits=True)

    def _read(self, start: int, end: int, nodes: list[Node]) -> Word:
        text = self._source[start:end].decode()
        is_ascii = len(text) == end - start
        expansions: dict[int, int] = {}
        for node in nodes:
            for each in outermost(node):
                first, last = each.start_byte - start, each.end_byte - start
                if not is_ascii:
                    first = len(self._source[start : each.start_byte].decode())
                    last = len(self._source[start : each.end_byte].decode())
                expansions[first] = last
        return read_word(text, expansions)

    # --- redirections ------------------------------------------------------------------------------------------------

    def _redirect(self, node: Node, depth: int) -> list[Node]:
        """Take in a redirection; the words behind it that are arguments of the command."""
        if node.type == "heredoc_redirect":
            return self._here_document(node, depth)
        if node.type == "herestring_redirect":
            self._visit_children(node, depth)
            return []
        operator = ""
        words: list[list[Node]] = []
        for child in node.children:
            if child.type == "file_descriptor":
                if not (self._text(child).isdigit() and self._begins_word(child.start_byte)):
                    self._result.doubt("has a number before a redirection that may belong to a word")
            elif child.type in WORDS:
                joins = bool(words) and bool(_JOINED.fullmatch(self._source, words[-1][-1].end_byte, child.start_byte))
                words[-1:] = [[*words[-1], child]] if joins else [*words[-1:], [child]]
                self.visit(child, depth + 1)
            else:
                operator += child.type
        if words or operator not in {">&-", "<&-"}:
            self._target(operator, words[:1])
        return [node for each in words[1:] for node in each]

    def _target(self, operator: str, words: list[list[Node]]) -> None:
        if not words or operator not in _WRITES | _READS:
            self._result.not_understood("has a redirection that is not understood")
            return
        nodes = words[0]
        word = self._word(nodes[0].start_byte, nodes[-1].end_byte, nodes)
        if operator in {">&", "<&"}:
            if re.fullmatch(r"\d+-?|-", word.text):
                return
            if not re.fullmatch(r"[\w./%+,:@-]+", word.text):
                # What is in the quotes there is expanded all the same, once more.
                self._result.not_understood("has a redirection that is not understood")
                return
        target = word if word.is_exact else None
        if operator in _WRITES:
            self._result.redirections.append(Redirection("write", target))
        if operator in _READS:
            self._result.redirections.append(Redirection("read", target))

    def _here_document(self, node: Node, depth: int) -> list[Node]:
        more: list[Node] = []
        for child in node.children:
            if child.type == "heredoc_body":
                self._visit_children(child, depth)
            elif child.type == "file_redirect":
                more += self._redirect(child, depth + 1)
            elif child.type in WORDS:
                more.append(child)
            elif child.type not in {"heredoc_start", "heredoc_end"}:
                self.visit(child, depth + 1)
        if doubt := doubt_of_here_document(self._source, node):
            self._result.doubt(doubt)
        return more

    def _visit_children(self, node: Node, depth: int) -> None:
        for child in node.children:
            self.visit(child, depth + 1)

    # --- texts -------------------------------------------------------------------------------------------------------

    def _begins_word(self, at: int) -> bool:
        return self._source[at - 1 : at] in {b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")"} or at == 0

    def _text(self, node: Node) -> str:
        return self._bytes(node).decode(errors="replace")

    def _bytes(self, node: Node) -> bytes:
        return self._source[node.start_byte : node.end_byte]

    def _shown(self, start: int, end: int) -> str:
        return self._source[start : min(end, start + 40)].decode(errors="replace")


_JOINED: Final = re.compile(rb"(?:\\\n)*")
_PLAIN_PATTERN: Final = re.compile(r"[\w.*?+^@%,:/\[\]-]+")
