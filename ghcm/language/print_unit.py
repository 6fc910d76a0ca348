"""Units as canonical text: their headers, and statements with the comments between them."""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.language import ast
from ghcm.language.layout import WIDTH, chain_head, layout, links, print_link
from ghcm.language.print_comments import STEP, closing_comments, comments_above, comments_inside, end_of, with_trailing
from ghcm.language.print_expr import flat
from ghcm.language.print_type import flat_type
from ghcm.language.trivia import Trivia
from ghcm.source import Span

_MOST_CALLS = 3
"""A chain of more calls is broken though it would fit on a line."""


def unit_lines(unit: ast.UnitDecl, trivia: Trivia) -> list[str]:
    """A unit, and above it the comments that stood inside its header."""
    above = comments_inside(_header_span(unit), trivia, 0)
    header = _header(unit)
    if not unit.body and not (unit.span and trivia.waits(unit.span.start, unit.span.end)):
        lines = [*header[:-1], header[-1] + " { }"]
        return [*above, *lines[:-1], with_trailing(lines[-1], trivia, unit.span)]
    lines = [*header[:-1], header[-1] + " {"]
    after_broken = False
    for index, statement in enumerate(unit.body):
        leading = comments_above(statement.span, trivia, STEP)
        hoisted, found = _statement(statement, trivia)
        leading += hoisted
        if index == 0:
            leading = leading[1:] if leading[:1] == [""] else leading
        elif after_broken and leading[:1] != [""]:
            leading.insert(0, "")
        lines += leading + found
        after_broken = len(found) > 1
    lines += closing_comments(unit.span, trivia)
    return [*above, *lines, with_trailing("}", trivia, unit.span)]


def _header_span(unit: ast.UnitDecl) -> Span | None:
    """From the unit's first word to the last part of its header."""
    parts = [
        unit.name.span,
        *(parameter.span for parameter in unit.parameters),
        unit.cache.span if unit.cache else None,
    ]
    last = max((span.end for span in parts if span is not None), default=0)
    return None if unit.span is None else Span(unit.span.source, unit.span.start, last)


def _header(unit: ast.UnitDecl) -> list[str]:
    head = f"{'responsive ' if unit.responsive else ''}{unit.kind} {unit.name.text}"
    end = f" on {unit.cache.text}" if unit.cache else ""
    if not unit.parameters:
        return [head + end]
    parameters = list(map(parameter_text, unit.parameters))
    text = f"{head}({', '.join(parameters)}){end}"
    if len(text) + 2 <= WIDTH:
        return [text]
    pad = " " * (len(head) + 1)
    lines = [f"{pad}{parameter}," for parameter in parameters]
    lines[0] = f"{head}({parameters[0]},"
    lines[-1] = lines[-1].removesuffix(",") + f"){end}"
    return lines


def parameter_text(parameter: ast.Parameter) -> str:
    """A parameter of a unit or function on one line."""
    default = "" if parameter.default is None else f" = {flat(parameter.default)}"
    return f"{parameter.name.text}: {flat_type(parameter.type)}{default}"


def _statement(statement: ast.Statement, trivia: Trivia) -> tuple[list[str], list[str]]:
    """The comments to stand above a statement, and its lines."""
    head = f"{statement.name.text} = " if isinstance(statement, ast.Assign) else ""
    column = STEP + len(head)
    start, calls = links(statement.value)
    span = statement.span
    commented = bool(calls) and span is not None and trivia.waits(end_of(calls[0].span), span.end)
    too_long = len(calls) > _MOST_CALLS or column + len(flat(statement.value)) > WIDTH
    broken = bool(calls) and (commented or too_long)
    if not broken:
        above = comments_inside(span, trivia, STEP)
        lines = layout(statement.value, column)
        lines[-1] = with_trailing(lines[-1], trivia, span)
    else:
        above, lines = _broken(start, calls, column, trivia)
    return above, [" " * STEP + head + lines[0], *lines[1:]]


def _broken(start: ast.Expr, calls: Sequence[ast.Apply], column: int, trivia: Trivia) -> tuple[list[str], list[str]]:
    """A chain with one call per line and the comments between them."""
    lines, dots, done = chain_head(start, calls, column)
    head_span = calls[0].span if done else start.span
    above = comments_inside(head_span, trivia, STEP)
    lines[-1] = with_trailing(lines[-1], trivia, head_span)
    for call in calls[done:]:
        lines += comments_inside(call.span, trivia, dots)
        found = print_link(call, dots)
        lines.append(" " * dots + found[0])
        lines += found[1:]
        lines[-1] = with_trailing(lines[-1], trivia, call.span)
    return above, lines
