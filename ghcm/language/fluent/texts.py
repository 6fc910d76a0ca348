"""f-strings and `str(x)`: a value leaves a mark in the text, and marks become parts of an expression again.

A mark that Python changes or that never comes back (because the text was compared, cut or printed) is a mistake: it
would have been lost without a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count

from ghcm.language import ast
from ghcm.language.fluent.problems import mistake, report
from ghcm.language.fluent.refusals import WHY
from ghcm.source import Span
from ghcm.types import String

_OPEN, _CLOSE = "\ue0f0", "\ue0f1"
_MARK = re.compile(f"{_OPEN}gHcM([0-9]+){_CLOSE}")
_HINT = 'write the functions of the language: x.to_string().upper(), x == "a"'


@dataclass(slots=True)
class _Marked:
    expr: ast.Expr
    span: Span
    seen: bool = False


_marked: dict[int, _Marked] = {}
_numbers = count()


def next_mark() -> int:
    """A number that no mark before has, and every later one exceeds."""
    return next(_numbers)


def mark(expr: ast.Expr, span: Span) -> str:
    """Text that stands for the text of a value."""
    number = next(_numbers)
    _marked[number] = _Marked(expr, span)
    return f"{_OPEN}gHcM{number}{_CLOSE}"


def text_of(text: str, span: Span) -> ast.Expr:
    """A text as an expression: a constant, or its parts joined. Raises `ProgramError` for a mark that was changed."""
    parts: list[ast.Expr] = []
    for index, piece in enumerate(_MARK.split(text)):
        if index % 2:
            found = _marked.get(int(piece))
            if found is None:
                raise mistake("GHCM-130", "the text of a value is used outside of its function", span)
            found.seen = True
            parts.append(
                ast.Apply(ast.Attribute(found.expr, "to_string", found.span, found.span), (), None, found.span)
            )
        elif _OPEN in piece or _CLOSE in piece:
            raise mistake("GHCM-130", "Python changed the text of a value", span, detail=WHY, hint=_HINT)
        elif piece or text == "":
            parts.append(ast.Literal(piece, String(), span))
    whole = parts[0]
    for part in parts[1:]:
        whole = ast.Binary("+", whole, part, span)
    return whole


def check_marks(since: int) -> None:
    """Report the marks since that number that did not come back, and forget all of them."""
    for number in [each for each in _marked if each > since]:
        lost = _marked.pop(number)
        if not lost.seen:
            report("GHCM-130", "Python used the text of a value itself", lost.span, detail=WHY, hint=_HINT)
