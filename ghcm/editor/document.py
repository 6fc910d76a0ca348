"""A program while it is being typed: parsed declaration by declaration, so that a change costs one of them.

Each declaration is a source of its own whose text begins with a line that makes it a program; positions are carried
back and forth between it and the document. What the lowering finds out about a text is kept until the text changes.
What stands at a position is the matter of others.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ghcm.errors import Diagnostic, ProgramError
from ghcm.language import ast
from ghcm.language.parser import parse
from ghcm.lowering import Notes, look
from ghcm.source import Source, Span

_BORDER = re.compile(r"^(?=(?:program|record|cache|sink|stream|batch|responsive|function|enum|union)\b)", re.MULTILINE)
"""A declaration begins a line; what stands elsewhere belongs to the one before."""

_HEADER = "program p\n"


@dataclass(frozen=True, slots=True)
class Piece:
    """One declaration as parsed: its tree, or what is wrong with it. `own`: the document's header stands in it."""

    source: Source
    declarations: tuple[ast.Declaration, ...]
    mistakes: tuple[Diagnostic, ...]
    own: bool

    @property
    def header(self) -> int:
        """How many characters come before the text of the document."""
        return 0 if self.own else len(_HEADER)


@dataclass(frozen=True, slots=True)
class Position:
    """A piece and an offset in its source."""

    piece: Piece
    offset: int


class Document:
    """The text of one program. `change` keeps the pieces that are the same as before."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self.pieces: list[tuple[int, Piece]] = []
        self.notes: dict[tuple[str, ...], Notes] = {}
        self._parsed: dict[str, Piece] = {}

    def change(self, text: str) -> None:
        """Take another text."""
        self.text = text
        self.notes = {}
        borders = sorted({0, *(found.start() for found in _BORDER.finditer(text)), len(text)})
        parts = [(start, text[start:end]) for start, end in pairwise(borders)]
        parsed = {part: self._parsed.get(part) or parse_piece(self.name, part) for _, part in parts}
        self._parsed = parsed
        self.pieces = [(start, parsed[part]) for start, part in parts]

    @property
    def program(self) -> ast.Program:
        """The tree of all that could be parsed."""
        declarations = tuple(each for _, piece in self.pieces for each in piece.declarations)
        return ast.Program(ast.Name("p"), declarations)

    def notes_of(self, declarations: tuple[ast.Declaration, ...]) -> Notes:
        """What the lowering knows of the units among these declarations: looked for once in a text."""
        units = tuple(each.name.text for each in declarations if isinstance(each, ast.UnitDecl))
        if units not in self.notes:
            self.notes[units] = look(self.program, units)
        return self.notes[units]

    def position(self, offset: int) -> Position | None:
        """The piece at an offset of the document; its end belongs to it."""
        for start, piece in reversed(self.pieces):
            if start <= offset:
                return Position(piece, offset - start + piece.header)
        return None

    def range_of(self, span: Span) -> tuple[int, int] | None:
        """Where in the document a span of a piece stands; None for one of another text."""
        for start, piece in self.pieces:
            if piece.source is span.source:
                return max(0, span.start - piece.header) + start, max(0, span.end - piece.header) + start
        return None

    def mistakes(self) -> Iterator[Diagnostic]:
        """What is wrong with the form of the pieces."""
        for _, piece in self.pieces:
            yield from piece.mistakes


def parse_piece(name: str, text: str) -> Piece:
    """One declaration of a document."""
    own = text.startswith("program")
    source = Source(name, text if own else _HEADER + text)
    try:
        return Piece(source, parse(source).declarations, (), own)
    except ProgramError as error:
        return Piece(source, (), error.diagnostics, own)
