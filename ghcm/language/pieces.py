"""How a program with syntax errors falls apart: declarations, and in them statements or fields, each parsed alone.

Works on tokens only. A border is a separator outside brackets, or the word of a declaration where one can only begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token

from ghcm.language.tokens import SEPARATOR, Tokens, begins_declaration

_OPENERS, _CLOSERS = ("LPAR", "LSQB", "LBRACE"), ("RPAR", "RSQB", "RBRACE")
_UNITS = ("STREAM", "BATCH", "RESPONSIVE")


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens that one start rule of the grammar should accept."""

    rule: str
    tokens: tuple[Token, ...]

    @property
    def start(self) -> int:
        """Where it begins, as an offset."""
        return self.tokens[0].start_pos or 0 if self.tokens else 0

    @property
    def end(self) -> int:
        """Where it ends, exclusive."""
        return self.tokens[-1].end_pos or 0 if self.tokens else 0


def pieces(found: Tokens) -> Iterator[Piece]:
    """The pieces of a program, in order."""
    declarations = list(_declarations(found.tokens))
    for index, tokens in enumerate(declarations):
        if index == 0:
            yield Piece("program", tokens)
        else:
            yield from _declaration(tokens)


def _declarations(tokens: list[Token]) -> Iterator[tuple[Token, ...]]:
    depth, begin = 0, 0
    for index, token in enumerate(tokens):
        after_separator = index > 0 and tokens[index - 1].type == SEPARATOR
        if after_separator and index > begin and (depth == 0 or begins_declaration(tokens, index)):
            yield _trimmed(tokens[begin:index])
            begin, depth = index, 0
        depth += (token.type in _OPENERS) - (token.type in _CLOSERS)
    yield _trimmed(tokens[begin:])


def _declaration(tokens: tuple[Token, ...]) -> Iterator[Piece]:
    rule = {"RECORD": "field"}.get(tokens[0].type, "statement" if tokens[0].type in _UNITS else "")
    body = next((index for index in range(len(tokens)) if _opens_body(tokens, index)), None)
    if not rule or body is None:
        yield Piece("declaration", tokens)
        return
    if rule == "statement":
        yield Piece("unit_header", tokens[:body])
    else:
        yield Piece("declaration", (*tokens[: body + 1], Token.new_borrow_pos("RBRACE", "}", tokens[body])))
    end = len(tokens) - (tokens[-1].type == "RBRACE")
    for part in _parts(tokens[body + 1 : end], rule):
        yield Piece(rule, part)


def _opens_body(tokens: tuple[Token, ...], index: int) -> bool:
    if tokens[index].type != "LBRACE":
        return False
    before = [token.type for token in tokens[:index]]
    return all(before.count(opener) == before.count(closer) for opener, closer in zip(_OPENERS, _CLOSERS, strict=True))


def _parts(tokens: tuple[Token, ...], rule: str) -> Iterator[tuple[Token, ...]]:
    """Statements or fields. In a field "<" and ">" are brackets of a type, which no line outlives where one is open."""
    typed = rule == "field"
    depth, angles, begin = 0, 0, 0
    for index, token in enumerate(tokens):
        comma = typed and angles == 0 and token.type == "COMMA"
        if depth == 0 and (comma or token.type == SEPARATOR):
            if index > begin:
                yield tokens[begin:index]
            begin, angles = index + 1, 0
        depth += (token.type in _OPENERS) - (token.type in _CLOSERS)
        angles = max(0, angles + (token.type == "LT") - (token.type == "GT"))
    if len(tokens) > begin:
        yield tokens[begin:]


def _trimmed(tokens: list[Token]) -> tuple[Token, ...]:
    return tuple(tokens[:-1] if tokens and tokens[-1].type == SEPARATOR else tokens)
