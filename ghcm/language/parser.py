"""The text front end: from a program's text to its syntax tree, with all syntax errors of the program at once.

A correct program is parsed in one go. A wrong one is parsed again piece by piece (declarations, statements, fields), so
that each piece can report its own mistake. Meaning (names, types, units) is the lowering's matter.
"""

from __future__ import annotations

from lark import Token, Tree
from lark.exceptions import UnexpectedToken

from ghcm.errors import Diagnostics
from ghcm.language import ast
from ghcm.language.builder import Node, build
from ghcm.language.syntax_errors import Piece, explain, pieces
from ghcm.language.tables import fed_parser
from ghcm.language.tokens import Tokens, read_tokens
from ghcm.source import Source


def parse(source: Source) -> ast.Program:
    """The program that the text says. Raises `ProgramError` with every syntax error that was found."""
    problems = Diagnostics()
    found = _parse(source, "program", problems)
    problems.check()
    assert isinstance(found, ast.Program)
    return found


def parse_expr(source: Source) -> ast.Expr:
    """One expression standing alone. Raises `ProgramError`."""
    problems = Diagnostics()
    found = _parse(source, "expr", problems)
    problems.check()
    return found  # type: ignore[return-value]


def _parse(source: Source, start: str, problems: Diagnostics) -> Node | None:
    tokens = read_tokens(source, problems)
    whole = Piece(start, tuple(tokens.tokens))
    tree = _tree(whole)
    if isinstance(tree, Tree):
        return build(tree, source, problems)
    if start == "program":
        for piece in pieces(tokens):
            _report(piece, tokens, problems)
    if not problems.found:
        problems.found.append(explain(whole, tree, source))
    return None


def _report(piece: Piece, tokens: Tokens, problems: Diagnostics) -> None:
    """Note what is wrong with one piece; a piece with a mistake of tokens in it has been reported already."""
    tree = _tree(piece)
    if isinstance(tree, Tree):
        build(tree, tokens.source, problems)
    elif not any(piece.start <= offset < piece.end for offset in tokens.damaged):
        problems.found.append(explain(piece, tree, tokens.source))


def _tree(piece: Piece) -> Tree[Token] | UnexpectedToken:
    """The parse tree of a piece, or the error at its first wrong token."""
    parser = fed_parser(piece.rule)
    try:
        for token in piece.tokens:
            parser.feed_token(token)
        last = piece.tokens[-1] if piece.tokens else None
        tree: Tree[Token] = parser.feed_eof(last)  # type: ignore[no-untyped-call]
        return tree
    except UnexpectedToken as error:
        return error
