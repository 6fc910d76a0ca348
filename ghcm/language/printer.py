"""Canonical text: the one layout of a program, for `ghcm fmt`, messages and golden files.

`parse(print_program(x)) == x`, and formatting formatted text changes nothing. Comments and single empty lines of a
source are kept; a comment that stood inside an expression moves above its line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from ghcm.language import ast
from ghcm.language.layout import WIDTH, layout
from ghcm.language.parser import parse
from ghcm.language.print_comments import (
    STEP,
    comment_lines,
    comments_above,
    comments_inside,
    end_of,
    start_of,
    with_trailing,
)
from ghcm.language.print_expr import flat
from ghcm.language.print_record import is_short, listed_lines, on_one_line, record_lines
from ghcm.language.print_type import flat_type
from ghcm.language.print_unit import parameter_text, unit_lines
from ghcm.language.trivia import Trivia
from ghcm.source import Source, Span


def format_text(text: str, name: str = "program") -> str:
    """The canonical text of a program, comments kept. Raises `ProgramError`, citing `name`, where it does not parse."""
    source = Source(name, text)
    return _text(parse(source), Trivia(source), len(text) + 1)


def print_program(program: ast.Program) -> str:
    """The canonical text of a syntax tree, whatever built it."""
    return _text(program, Trivia(), 1)


def print_expr(expr: ast.Expr) -> str:
    """An expression on one line."""
    return flat(expr)


def _text(program: ast.Program, trivia: Trivia, end: int) -> str:
    lines = comment_lines(trivia.before(start_of(program.name.span)), 0)
    lines.append(with_trailing(f"program {program.name.text}", trivia, program.name.span))
    for run in _runs(program.declarations, trivia):
        for index, declaration in enumerate(run):
            leading = comments_above(declaration.span, trivia, 0)
            if index == 0 and leading[:1] != [""]:
                leading.insert(0, "")
            lines += leading + _declaration(declaration, run, trivia)
    lines += comment_lines(trivia.before(end), 0)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _runs(declarations: Sequence[ast.Declaration], trivia: Trivia) -> list[list[ast.Declaration]]:
    """Neighbours without an empty line between them, which are aligned: records of one line, caches and sinks."""
    runs: list[list[ast.Declaration]] = []
    for declaration in declarations:
        previous = runs[-1][-1] if runs else None
        if previous is not None and _neighbours(previous, declaration, trivia):
            runs[-1].append(declaration)
        else:
            runs.append([declaration])
    return runs


def _neighbours(first: ast.Declaration, second: ast.Declaration, trivia: Trivia) -> bool:
    if second.span is not None:
        comment_between = trivia.stands_alone(end_of(first.span), second.span.end)
        if comment_between or trivia.apart(second.span.start):
            return False
    match first, second:
        case ast.RecordDecl(), ast.RecordDecl():
            return is_short(first, trivia) and is_short(second, trivia)
        case ast.EnumDecl(), ast.EnumDecl():
            return on_one_line(first, trivia) and on_one_line(second, trivia)
        case ast.UnionDecl(), ast.UnionDecl():
            return on_one_line(first, trivia) and on_one_line(second, trivia)
        case ((ast.CacheDecl() | ast.SinkDecl()), (ast.CacheDecl() | ast.SinkDecl())):
            return True
        case _:
            return False


def _declaration(declaration: ast.Declaration, run: Sequence[ast.Declaration], trivia: Trivia) -> list[str]:
    match declaration:
        case ast.RecordDecl():
            return record_lines(declaration, run, trivia)
        case ast.EnumDecl():
            return listed_lines(declaration, [each for each in run if isinstance(each, ast.EnumDecl)], trivia)
        case ast.UnionDecl():
            return listed_lines(declaration, [declaration], trivia)
        case ast.CacheDecl(connector=connector):
            return _connector(f"cache {declaration.name.text} = ", connector, declaration.span, trivia)
        case ast.SinkDecl(connector=connector):
            word = "sink  " if any(isinstance(each, ast.CacheDecl) for each in run) else "sink "
            width = max(len(each.name.text) for each in run if isinstance(each, ast.SinkDecl))
            return _connector(f"{word}{declaration.name.text.ljust(width)} = ", connector, declaration.span, trivia)
        case ast.FunctionDecl(body=body):
            return _function(declaration, body, trivia)
        case ast.UnitDecl():
            return unit_lines(declaration, trivia)
        case _:
            assert_never(declaration)


def _function(function: ast.FunctionDecl, body: ast.Expr, trivia: Trivia) -> list[str]:
    """On one line where it fits, else the body on lines of its own."""
    above = comments_inside(function.span, trivia, 0)
    parameters = ", ".join(map(parameter_text, function.parameters))
    head = f"function {function.name.text}({parameters}) : {flat_type(function.result)} ="
    if len(head) + 1 + len(flat(body)) <= WIDTH:
        lines = [f"{head} {flat(body)}"]
    else:
        inner = layout(body, STEP)
        lines = [head, " " * STEP + inner[0], *inner[1:]]
    lines[-1] = with_trailing(lines[-1], trivia, function.span)
    return above + lines


def _connector(head: str, connector: ast.Expr, span: Span | None, trivia: Trivia) -> list[str]:
    above = comments_inside(span, trivia, 0)
    lines = layout(connector, len(head))
    lines[0] = head + lines[0]
    lines[-1] = with_trailing(lines[-1], trivia, span)
    return above + lines
