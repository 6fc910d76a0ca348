"""Canonical text: the one layout of a program, for `ghcm fmt`, messages and golden files.

`parse(print_program(x)) == x`, and formatting formatted text changes nothing. Comments and single empty lines of a
source are kept; a comment that stood inside an expression moves above its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from ghcm.language import ast
from ghcm.language.parser import parse
from ghcm.language.printing.expressions import flat, flat_field, flat_type, flat_value
from ghcm.language.printing.layout import WIDTH, chain_head, layout, links, print_link
from ghcm.language.printing.trivia import (
    STEP,
    Trivia,
    closing_comments,
    comment_lines,
    comments_above,
    comments_inside,
    end_of,
    start_of,
    with_trailing,
)
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


_MOST_FIELDS = 4
"""A record of more fields is broken though it would fit on a line."""


def is_short(record: ast.RecordDecl, trivia: Trivia) -> bool:
    """Whether a record stands on one line."""
    inside = record.span is not None and trivia.waits(record.span.start, record.span.end)
    plain = not any(field.path for field in record.fields)
    fits = len(_short_text(record, len(record.name.text))) <= WIDTH
    return not inside and plain and fits and len(record.fields) <= _MOST_FIELDS


def _short_text(record: ast.RecordDecl, width: int) -> str:
    fields = ", ".join(map(flat_field, record.fields))
    return f"record {record.name.text.ljust(width)} {{ {fields} }}" if fields else f"record {record.name.text} {{ }}"


def record_lines(record: ast.RecordDecl, run: Sequence[ast.Declaration], trivia: Trivia) -> list[str]:
    """A record, its name as wide as those of its run."""
    if is_short(record, trivia):
        names = [each for each in run if isinstance(each, ast.RecordDecl)]
        width = max(len(each.name.text) for each in names)
        if any(len(_short_text(each, width)) > WIDTH for each in names):
            width = 0
        return [with_trailing(_short_text(record, width), trivia, record.span)]
    lines = [f"record {record.name.text} {{"]
    lines += _fields(record.fields, trivia)
    lines += closing_comments(record.span, trivia)
    return [*lines, with_trailing("}", trivia, record.span)]


def _fields(fields: Sequence[ast.FieldDecl], trivia: Trivia) -> Iterator[str]:
    """One field per line: types below each other, paths too, and comments behind them."""
    names = max((len(field.name.text) for field in fields), default=0)
    types = max((len(flat_type(field.type)) for field in fields if field.path is not None), default=0)
    texts = [_aligned(field, names, types) for field in fields]
    longest = max(map(len, texts), default=0)
    for index, (field, text) in enumerate(zip(fields, texts, strict=True)):
        leading = comments_above(field.span, trivia, STEP) + comments_inside(field.span, trivia, STEP)
        yield from leading[1:] if index == 0 and leading[:1] == [""] else leading
        comment = trivia.trailing(field.span)
        yield f"  {text.ljust(longest)}  {comment}" if comment else f"  {text}"


def _aligned(field: ast.FieldDecl, names: int, types: int) -> str:
    """A field with its type at column `names` + 2 and its path behind a type of up to `types` characters."""
    name, type_ = f"{field.name.text}:".ljust(names + 1), flat_type(field.type)
    if field.path is None:
        return f"{name} {type_}"
    path = flat_field(field).removeprefix(f"{field.name.text}: {type_}")
    return f"{name} {type_.ljust(types)}{path}"


def on_one_line(listed: ast.EnumDecl | ast.UnionDecl, trivia: Trivia) -> bool:
    """Whether an enum or union stands on one line."""
    inside = listed.span is not None and trivia.waits(listed.span.start, listed.span.end)
    return not inside and len(_list_text(listed, 0)) <= WIDTH


def _list_text(listed: ast.EnumDecl | ast.UnionDecl, width: int) -> str:
    inner = ", ".join(text for text, _ in _listed_parts(listed))
    return f"{_list_head(listed, width)} {{ {inner} }}" if inner else f"{_list_head(listed, 0)} {{ }}"


def _list_head(listed: ast.EnumDecl | ast.UnionDecl, width: int) -> str:
    match listed:
        case ast.EnumDecl(name=name):
            return f"enum {name.text.ljust(width)}"
        case ast.UnionDecl(name=name, tag=tag):
            return f"union {name.text} by {tag.text}"
        case _:
            assert_never(listed)


def _listed_parts(listed: ast.EnumDecl | ast.UnionDecl) -> list[tuple[str, Span | None]]:
    if isinstance(listed, ast.EnumDecl):
        return [(flat_value(value), value.span) for value in listed.values]
    return [
        (
            each.record.text if each.text.text == each.record.text else f"{flat_value(each.text)}: {each.record.text}",
            each.span,
        )
        for each in listed.variants
    ]


def listed_lines(
    listed: ast.EnumDecl | ast.UnionDecl, neighbours: Sequence[ast.EnumDecl | ast.UnionDecl], trivia: Trivia
) -> list[str]:
    """On one line where it fits, else a value or record on each."""
    if on_one_line(listed, trivia):
        width = max(len(each.name.text) for each in neighbours)
        if any(len(_list_text(each, width)) > WIDTH for each in neighbours):
            width = 0
        return [with_trailing(_list_text(listed, width), trivia, listed.span)]
    lines = [f"{_list_head(listed, 0)} {{"]
    for index, (text, span) in enumerate(_listed_parts(listed)):
        leading = comments_above(span, trivia, STEP)
        lines += leading[1:] if index == 0 and leading[:1] == [""] else leading
        lines.append(with_trailing(f"  {text}", trivia, span))
    lines += closing_comments(listed.span, trivia)
    return [*lines, with_trailing("}", trivia, listed.span)]


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
