"""Canonical text: the one layout of a program, for `ghcm fmt`, messages and golden files.

`parse(print_program(x)) == x`, and formatting formatted text changes nothing. Comments and single empty lines of a
source are kept, each comment exactly once; one that stood inside an expression moves above its line.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from ghcm.language import ast
from ghcm.language.parser import parse
from ghcm.language.printing import expressions
from ghcm.language.printing.expressions import WIDTH, flat, flat_field, flat_type, flat_value, layout
from ghcm.language.tokens import raw_tokens
from ghcm.source import Source, Span

STEP = 2
"""Spaces before what stands in braces."""


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment, without white space around it. `apart`: an empty line stands before it."""

    start: int
    text: str
    apart: bool


class Trivia:
    """The comments of a source that are not printed yet, in order. Without a source there are none."""

    def __init__(self, source: Source | None = None) -> None:
        self._source = source or Source("", "")
        comments = (token for token in raw_tokens(self._source) if token.type == "COMMENT")
        self._waiting = deque(
            Comment(token.start_pos or 0, token.rstrip(), self.apart(token.start_pos or 0)) for token in comments
        )

    def apart(self, offset: int) -> bool:
        """Whether what begins at `offset` begins its line, and the line before it is empty."""
        before = self._source.text[:offset].split("\n")
        return len(before) > 2 and not before[-1].strip() and not before[-2].strip()

    def waits(self, start: int, end: int) -> bool:
        """Whether a comment between these offsets waits to be printed."""
        return any(start <= comment.start < end for comment in self._waiting)

    def waits_in(self, span: Span | None) -> bool:
        """Whether a comment inside of something waits to be printed."""
        return span is not None and self.waits(span.start, span.end)

    def stands_alone(self, start: int, end: int) -> bool:
        """Whether a comment between these offsets waits that has its line to itself."""
        waiting = (comment.start for comment in self._waiting if start <= comment.start < end)
        return any("\n" in self._source.text[start:comment] for comment in waiting)

    def _before(self, offset: int) -> list[Comment]:
        """Take all comments that begin before `offset`."""
        taken: list[Comment] = []
        while self._waiting and self._waiting[0].start < offset:
            taken.append(self._waiting.popleft())
        return taken

    def lines_before(self, offset: int, indent: int) -> list[str]:
        """The comments before `offset` on lines of their own, an empty one before each that stood apart."""
        lines: list[str] = []
        for comment in self._before(offset):
            lines += ["", " " * indent + comment.text] if comment.apart else [" " * indent + comment.text]
        return lines

    def above(self, span: Span | None, indent: int) -> list[str]:
        """The comments above something, and the empty line before it."""
        lines = self.lines_before(start_of(span), indent)
        return [*lines, ""] if span is not None and self.apart(span.start) else lines

    def inside(self, span: Span | None, indent: int) -> list[str]:
        """The comments inside something that is printed without them, to stand above it."""
        return [" " * indent + comment.text for comment in self._before(end_of(span))]

    def closing(self, span: Span | None) -> list[str]:
        """The comments between the last line of a body and its closing brace."""
        return self.lines_before(end_of(span), STEP)

    def with_trailing(self, line: str, span: Span | None, width: int = 0) -> str:
        """The line, at least `width` characters, and the comment behind `span` on its last line, if nothing but
        punctuation stands between."""
        if span is None or not self._waiting:
            return line
        between = self._source.text[span.end : self._waiting[0].start]
        if self._waiting[0].start < span.end or between.strip(" \t\r,;") or "\n" in between:
            return line
        return f"{line.ljust(width)}  {self._waiting.popleft().text}"


def start_of(span: Span | None) -> int:
    """Where something begins; 0 where no source holds it."""
    return 0 if span is None else span.start


def end_of(span: Span | None) -> int:
    """Where something ends; 0 where no source holds it."""
    return 0 if span is None else span.end


def format_text(text: str, name: str = "program") -> str:
    """The canonical text of a program, comments kept. Raises `ProgramError`, citing `name`, where it does not parse."""
    source = Source(name, text)
    return _text(parse(source), Trivia(source), len(text) + 1)


def print_program(program: ast.Program) -> str:
    """The canonical text of a syntax tree, whatever built it."""
    return _text(program, Trivia(), 1)


def _text(program: ast.Program, trivia: Trivia, end: int) -> str:
    lines = trivia.lines_before(start_of(program.name.span), 0)
    lines.append(trivia.with_trailing(f"program {program.name.text}", program.name.span))
    for run in _runs(program.declarations, trivia):
        for index, declaration in enumerate(run):
            leading = trivia.above(declaration.span, 0)
            if index == 0 and leading[:1] != [""]:
                leading.insert(0, "")
            lines += leading + _declaration(declaration, run, trivia)
    lines += trivia.lines_before(end, 0)
    return "\n".join(line.rstrip() for line in lines) + "\n"


_Listed: TypeAlias = ast.RecordDecl | ast.EnumDecl | ast.UnionDecl
"""What has a list of fields, values or records in its braces."""


def _runs(declarations: Sequence[ast.Declaration], trivia: Trivia) -> list[list[ast.Declaration]]:
    """Neighbours without an empty line between them, which are aligned: lists of one line, caches and sinks."""
    runs: list[list[ast.Declaration]] = []
    for declaration in declarations:
        if runs and _neighbours(runs[-1][-1], declaration, trivia):
            runs[-1].append(declaration)
        else:
            runs.append([declaration])
    return runs


def _neighbours(first: ast.Declaration, second: ast.Declaration, trivia: Trivia) -> bool:
    if second.span is not None:
        comment_between = trivia.stands_alone(end_of(first.span), second.span.end)
        if comment_between or trivia.apart(second.span.start):
            return False
    if isinstance(first, ast.CacheDecl | ast.SinkDecl):
        return isinstance(second, ast.CacheDecl | ast.SinkDecl)
    if isinstance(first, _Listed) and isinstance(second, _Listed) and type(first) is type(second):
        return _is_short(first, trivia) and _is_short(second, trivia)
    return False


def _declaration(declaration: ast.Declaration, run: Sequence[ast.Declaration], trivia: Trivia) -> list[str]:
    match declaration:
        case ast.RecordDecl() | ast.EnumDecl() | ast.UnionDecl():
            return _list(declaration, run, trivia)
        case ast.CacheDecl(connector=connector):
            return _connector(f"cache {declaration.name.text} = ", connector, declaration.span, trivia)
        case ast.SinkDecl(connector=connector):
            word = "sink  " if any(isinstance(each, ast.CacheDecl) for each in run) else "sink "
            width = max(len(each.name.text) for each in run if isinstance(each, ast.SinkDecl))
            return _connector(f"{word}{declaration.name.text.ljust(width)} = ", connector, declaration.span, trivia)
        case ast.FunctionDecl():
            return _function(declaration, trivia)
        case ast.UnitDecl():
            return _unit(declaration, trivia)
        case _:
            assert_never(declaration)


def _function(function: ast.FunctionDecl, trivia: Trivia) -> list[str]:
    """On one line where it fits, else the body on lines of its own."""
    above = trivia.inside(function.span, 0)
    parameters = ", ".join(map(_parameter, function.parameters))
    head = f"function {function.name.text}({parameters}) : {flat_type(function.result)} ="
    if len(head) + 1 + len(flat(function.body)) <= WIDTH:
        lines = [f"{head} {flat(function.body)}"]
    else:
        inner = layout(function.body, STEP)
        lines = [head, " " * STEP + inner[0], *inner[1:]]
    lines[-1] = trivia.with_trailing(lines[-1], function.span)
    return above + lines


def _connector(head: str, connector: ast.Expr, span: Span | None, trivia: Trivia) -> list[str]:
    above = trivia.inside(span, 0)
    lines = layout(connector, len(head))
    lines[0] = head + lines[0]
    lines[-1] = trivia.with_trailing(lines[-1], span)
    return above + lines


_MOST_FIELDS = 4
"""A record of more fields is broken though it would fit on a line."""


def _is_short(listed: _Listed, trivia: Trivia) -> bool:
    """Whether it stands on one line."""
    if isinstance(listed, ast.RecordDecl) and (
        len(listed.fields) > _MOST_FIELDS or any(field.path for field in listed.fields)
    ):
        return False
    return not trivia.waits_in(listed.span) and len(_short(listed, 0)) <= WIDTH


def _short(listed: _Listed, width: int) -> str:
    """All of it on one line, its name as wide as `width`."""
    inner = ", ".join(text for text, _ in _parts(listed))
    return f"{_head(listed, width)} {{ {inner} }}" if inner else f"{_head(listed, 0)} {{ }}"


def _head(listed: _Listed, width: int) -> str:
    match listed:
        case ast.RecordDecl(name=name):
            return f"record {name.text.ljust(width)}"
        case ast.EnumDecl(name=name):
            return f"enum {name.text.ljust(width)}"
        case ast.UnionDecl(name=name, tag=tag):
            return f"union {name.text} by {tag.text}"
        case _:
            assert_never(listed)


def _parts(listed: _Listed) -> list[tuple[str, Span | None]]:
    match listed:
        case ast.RecordDecl(fields=fields):
            return [(flat_field(field), field.span) for field in fields]
        case ast.EnumDecl(values=values):
            return [(flat_value(value), value.span) for value in values]
        case ast.UnionDecl(variants=variants):
            return [(_variant(each.text, each.record.text), each.span) for each in variants]
        case _:
            assert_never(listed)


def _variant(text: ast.Name, record: str) -> str:
    return record if text.text == record else f"{flat_value(text)}: {record}"


def _list(listed: _Listed, run: Sequence[ast.Declaration], trivia: Trivia) -> list[str]:
    """On one line where it fits, its name as wide as those of its run, else a part on each."""
    if _is_short(listed, trivia):
        neighbours = [each for each in run if isinstance(each, _Listed)]
        width = max(len(each.name.text) for each in neighbours)
        if any(len(_short(each, width)) > WIDTH for each in neighbours):
            width = 0
        return [trivia.with_trailing(_short(listed, width), listed.span)]
    parts = _aligned(listed.fields) if isinstance(listed, ast.RecordDecl) else _parts(listed)
    longest = max((len(text) for text, _ in parts), default=0) if isinstance(listed, ast.RecordDecl) else 0
    lines = [f"{_head(listed, 0)} {{"]
    for index, (text, span) in enumerate(parts):
        leading = trivia.above(span, STEP)
        leading += trivia.inside(span, STEP) if isinstance(listed, ast.RecordDecl) else []
        lines += leading[1:] if index == 0 and leading[:1] == [""] else leading
        lines.append(trivia.with_trailing(f"  {text}", span, longest + 2))
    return [*lines, *trivia.closing(listed.span), trivia.with_trailing("}", listed.span)]


def _aligned(fields: Sequence[ast.FieldDecl]) -> list[tuple[str, Span | None]]:
    """Fields with their types below each other, and their paths too."""
    names = max((len(field.name.text) for field in fields), default=0)
    types = max((len(flat_type(field.type) + field.counts) for field in fields if field.path is not None), default=0)
    found: list[tuple[str, Span | None]] = []
    for field in fields:
        name, type_ = f"{field.name.text}:".ljust(names + 1), flat_type(field.type) + field.counts
        path = flat_field(field).removeprefix(f"{field.name.text}: {type_}")
        found.append((f"{name} {type_.ljust(types)}{path}" if path else f"{name} {type_}", field.span))
    return found


_MOST_CALLS = 3
"""A chain of more calls is broken though it would fit on a line."""


def _unit(unit: ast.UnitDecl, trivia: Trivia) -> list[str]:
    """A unit, and above it the comments that stood inside its header."""
    above = trivia.inside(_header_span(unit), 0)
    header = _header(unit)
    if not unit.body and not trivia.waits_in(unit.span):
        return [*above, *header[:-1], trivia.with_trailing(header[-1] + " { }", unit.span)]
    lines = [*header[:-1], header[-1] + " {"]
    after_broken = False
    for index, statement in enumerate(unit.body):
        leading = trivia.above(statement.span, STEP)
        hoisted, found = _statement(statement, trivia)
        leading += hoisted
        if index == 0:
            leading = leading[1:] if leading[:1] == [""] else leading
        elif after_broken and leading[:1] != [""]:
            leading.insert(0, "")
        lines += leading + found
        after_broken = len(found) > 1
    return [*above, *lines, *trivia.closing(unit.span), trivia.with_trailing("}", unit.span)]


def _header_span(unit: ast.UnitDecl) -> Span | None:
    """From the unit's first word to the last part of its header."""
    parts: list[ast.Node] = [unit.name, *unit.parameters, *filter(None, (unit.cache, unit.engine, unit.parallelism))]
    last = max(end_of(part.span) for part in parts)
    return None if unit.span is None else Span(unit.span.source, unit.span.start, last)


def _header(unit: ast.UnitDecl) -> list[str]:
    head = f"{'responsive ' if unit.responsive else ''}{unit.kind} {unit.name.text}"
    end = f" on {unit.cache.text}" if unit.cache else ""
    end += f" engine = {unit.engine.text}" if unit.engine else ""
    end += f" parallelism = {flat(unit.parallelism)}" if unit.parallelism else ""
    if not unit.parameters:
        return [head + end]
    parameters = list(map(_parameter, unit.parameters))
    text = f"{head}({', '.join(parameters)}){end}"
    if len(text) + 2 <= WIDTH:
        return [text]
    below = ",\n" + " " * (len(head) + 1)
    return f"{head}({below.join(parameters)}){end}".split("\n")


def _parameter(parameter: ast.Parameter) -> str:
    """A parameter of a unit or function on one line."""
    default = "" if parameter.default is None else f" = {flat(parameter.default)}"
    return f"{parameter.name.text}: {flat_type(parameter.type)}{default}"


def _statement(statement: ast.Statement, trivia: Trivia) -> tuple[list[str], list[str]]:
    """The comments to stand above a statement, and its lines."""
    head = f"{statement.name.text} = " if isinstance(statement, ast.Assign) else ""
    column = STEP + len(head)
    start, calls = expressions.links(statement.value)
    span = statement.span
    commented = bool(calls) and span is not None and trivia.waits(end_of(calls[0].span), span.end)
    too_long = len(calls) > _MOST_CALLS or column + len(flat(statement.value)) > WIDTH
    if calls and (commented or too_long):
        above, lines = _broken(start, calls, column, trivia)
    else:
        above = trivia.inside(span, STEP)
        lines = layout(statement.value, column)
        lines[-1] = trivia.with_trailing(lines[-1], span)
    return above, [" " * STEP + head + lines[0], *lines[1:]]


def _broken(start: ast.Expr, calls: Sequence[ast.Apply], column: int, trivia: Trivia) -> tuple[list[str], list[str]]:
    """A chain with one call per line and the comments between them."""
    lines, dots, done = expressions.chain_head(start, calls, column)
    head_span = calls[0].span if done else start.span
    above = trivia.inside(head_span, STEP)
    lines[-1] = trivia.with_trailing(lines[-1], head_span)
    for call in calls[done:]:
        lines += trivia.inside(call.span, dots)
        found = expressions.print_link(call, dots)
        lines += [" " * dots + found[0], *found[1:]]
        lines[-1] = trivia.with_trailing(lines[-1], call.span)
    return above, lines
