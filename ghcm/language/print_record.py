"""Records, enums and unions as canonical text: on one line where they are short, else a field or value on each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from ghcm.language import ast
from ghcm.language.layout import WIDTH
from ghcm.language.print_comments import STEP, closing_comments, comments_above, comments_inside, with_trailing
from ghcm.language.print_type import flat_field, flat_type, flat_value
from ghcm.language.trivia import Trivia
from ghcm.source import Span

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
    """One field per line: types below each other, places too, and comments behind them."""
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
    """A field with its type at column `names` + 2 and its place behind a type of up to `types` characters."""
    name, type_ = f"{field.name.text}:".ljust(names + 1), flat_type(field.type)
    if field.path is None:
        return f"{name} {type_}"
    place = flat_field(field).removeprefix(f"{field.name.text}: {type_}")
    return f"{name} {type_.ljust(types)}{place}"


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
