"""Where the user's Python stands, taken from the running frames and from Python's own trees, and what is wrong there.

The interpreter keeps line and column of every instruction, so that a mistake inside a lambda points at its own
operator; it knows a call or an operation as a whole, and the user's text has the parts. Where the text of the code is
not at hand (an interactive session) the line number is kept. Mistakes are collected while a program is loaded, and
raised at once where nobody collects.
"""

import ast as python
import linecache
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType, TracebackType

from ghcm.errors import Diagnostic, Diagnostics, ProgramError
from ghcm.source import Source, Span

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def is_ours(filename: str) -> bool:
    """Whether a file belongs to this front end, so that its frames are none of the user's."""
    return filename.startswith(_OURS)


def caller() -> FrameType:
    """The innermost frame of the user's code."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  (there is no public way)
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def here() -> Span:
    """What the user's innermost frame is evaluating."""
    frame = caller()
    return _at_instruction(frame.f_code, frame.f_lasti, frame.f_lineno)


def innermost(traceback: TracebackType | None, filename: str) -> Span | None:
    """The deepest position of a traceback in that file, else in any file that is the user's."""
    found: list[tuple[bool, Span]] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_ours(code.co_filename) and not code.co_filename.startswith("<frozen"):
            position = _at_instruction(code, traceback.tb_lasti, traceback.tb_lineno)
            found.append((code.co_filename == filename, position))
        traceback = traceback.tb_next
    wanted = [span for mine, span in found if mine] or [span for _, span in found]
    return wanted[-1] if wanted else None


def of_code(code: CodeType) -> Span:
    """All that a function's body says."""
    source = source_of(code.co_filename)
    positions = [each for each in code.co_positions() if each[2] is not None and each[3]]
    starts = [columns(source, line, column) for line, _, column, _ in positions if line and column is not None]
    ends = [columns(source, line, column) for _, line, _, column in positions if line and column is not None]
    if not source.text.strip() or not starts:
        return at_line(source, code.co_firstlineno)
    return Span(source, min(starts), max(ends))


def at_line(source: Source, line: int) -> Span:
    """A whole line; where the text is not at hand, a position that has its number."""
    if not source.line(line):
        blank = Source(source.name, "\n" * (line - 1))
        return Span(blank, line - 1, line - 1)
    text = source.line(line)
    start = source.offset(line, 1)
    return Span(source, start + len(text) - len(text.lstrip()), start + len(text.rstrip()))


def columns(source: Source, line: int, byte: int) -> int:
    """The offset of a position that is given as line and bytes of UTF-8, as the interpreter does."""
    return source.offset(line, len(source.line(line).encode()[:byte].decode(errors="ignore")) + 1)


def span_of_node(source: Source, node: python.AST) -> Span:
    """Where a node of Python's own tree stands."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
    return Span(source, columns(source, line, column), columns(source, end, end_column))


def source_of(filename: str) -> Source:
    """The text of a file of code, also of a notebook's cell; empty where it is not at hand."""
    return _source(shown(filename), "".join(linecache.getlines(filename)))


@lru_cache(maxsize=64)
def _source(name: str, text: str) -> Source:
    return Source(name, text)


def shown(filename: str) -> str:
    """A path as a person cites it: from the working directory on, where it is below it."""
    inside = os.path.isabs(filename) and filename.startswith(os.getcwd() + os.sep)
    return os.path.relpath(filename) if inside else filename


def _at_instruction(code: CodeType, offset: int, line: int | None) -> Span:
    source = source_of(code.co_filename)
    known, at = _positions(code), max(offset // 2, 0)
    where: Where = known[at] if at < len(known) else (None, None, None, None)
    return span_at(source, where) or at_line(source, where[0] or line or 1)


Where = tuple[int | None, int | None, int | None, int | None]
"""First and last line, first and last column, as the interpreter keeps them of an instruction."""


@lru_cache(maxsize=16)
def _positions(code: CodeType) -> tuple[Where, ...]:
    return tuple(code.co_positions())


def span_at(source: Source, where: Where) -> Span | None:
    """What stands there; None where the interpreter or the source does not know."""
    line, end, column, end_column = where
    if line is None or end is None or column is None or end_column is None or not source.line(line):
        return None
    return Span(source, columns(source, line, column), columns(source, end, end_column))


_Node = python.ClassDef | python.FunctionDef | python.AsyncFunctionDef


class Definition:
    """The class or function of a name that begins, or whose decorators begin, on a line.

    Every position is there, if only as the line on which the definition begins.
    """

    def __init__(self, filename: str, name: str, line: int) -> None:
        self._source = source_of(filename)
        self._line = line
        self._name = name
        self._node = _find(self._source.text, name, line)

    @property
    def name(self) -> Span:
        """Where its name stands behind `class` or `def`."""
        line = self._line if self._node is None else self._node.lineno
        whole = at_line(self._source, line)
        column = self._source.line(line).find(f" {self._name}")
        if column < 0:
            return whole
        start = self._source.offset(line, column + 2)
        return Span(self._source, start, start + len(self._name))

    @property
    def whole(self) -> Span:
        """From its first word to its end."""
        return self.name if self._node is None else span_of_node(self._source, self._node)

    def field(self, name: str) -> Span:
        """Where a field of a class is declared."""
        body = self._node.body if isinstance(self._node, python.ClassDef) else []
        targets = (each for each in body if isinstance(each, python.AnnAssign) and _is_name(each.target, name))
        return self._position(next(targets, None))

    def parameter(self, name: str) -> Span:
        """Where a parameter of a function stands, with its type."""
        arguments = self._node.args if isinstance(self._node, python.FunctionDef | python.AsyncFunctionDef) else None
        each = [] if arguments is None else [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return self._position(next((argument for argument in each if argument.arg == name), None))

    def assigned(self, name: str) -> Span | None:
        """Where a variable of a function is first given its value."""
        return next((span_of_node(self._source, target) for target in self._targets(name)), None)

    def _targets(self, name: str) -> Iterator[python.expr]:
        for node in python.walk(self._node) if self._node is not None else ():
            match node:
                case python.Assign(targets=targets):
                    yield from (each for target in targets for each in python.walk(target) if _is_name(each, name))  # type: ignore[misc]
                case python.AnnAssign(target=target) | python.NamedExpr(target=target) if _is_name(target, name):
                    yield target
                case _:
                    pass

    def _position(self, node: python.AST | None) -> Span:
        return self.name if node is None else span_of_node(self._source, node)


def assigned_name(frame: FrameType) -> tuple[str, Span] | None:
    """The variable that a frame assigns the call it is making to, and its position; None where that cannot be told."""
    from executing import Source as Executing

    node = Executing.executing(frame).node
    parent = getattr(node, "parent", None)
    match parent:
        case (
            python.Assign(targets=[python.Name(id=name) as target])
            | python.AnnAssign(target=python.Name(id=name) as target)
        ):
            return name, span_of_node(source_of(frame.f_code.co_filename), target)
        case _:
            return None


def _find(text: str, name: str, line: int) -> _Node | None:
    for node in _index(text).definitions:
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        if node.name == name and first <= line <= (node.end_lineno or node.lineno):
            return node
    return None


def _is_name(node: python.AST, name: str) -> bool:
    return isinstance(node, python.Name) and node.id == name


_End = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Operands:
    """The positions of a call's arguments and of the name that is called; the whole call where one is not known."""

    whole: Span
    name: Span
    positional: tuple[Span, ...] = ()
    named: dict[str, Span] = field(default_factory=dict[str, Span])

    def at(self, index: int) -> Span:
        """Where a positional argument stands."""
        return self.positional[index] if index < len(self.positional) else self.whole

    def of(self, name: str) -> Span:
        """Where the value of a named argument stands."""
        return self.named.get(name, self.whole)


def call_operands(span: Span) -> Operands:
    """The parts of the call that stands at `span`."""
    source = span.source
    node = _index(source.text).calls.get(_line_and_byte(source, span.end))
    if node is None:
        return Operands(span, span)
    name = span_of_node(source, node.func)
    if isinstance(node.func, python.Attribute):
        name = Span(source, name.end - len(node.func.attr), name.end)
    plain = not any(isinstance(each, python.Starred) for each in node.args)
    positional = tuple(span_of_node(source, each) for each in node.args) if plain else ()
    named = {each.arg: span_of_node(source, each.value) for each in node.keywords if each.arg is not None}
    return Operands(span, name, positional, named)


def infix_operands(span: Span) -> tuple[Span, Span]:
    """The left and right side of the operator that stands at `span`."""
    match _at(span):
        case python.BinOp(left=left, right=right) | python.Compare(left=left, comparators=[right]):
            return span_of_node(span.source, left), span_of_node(span.source, right)
        case _:
            return span, span


def lambda_parameters(span: Span) -> dict[str, Span]:
    """Where the parameters of the lambda that stands at `span` are named; none where there is no lambda."""
    node = _at(span)
    if not isinstance(node, python.Lambda):
        return {}
    return {each.arg: span_of_node(span.source, each) for each in (*node.args.posonlyargs, *node.args.args)}


@dataclass(frozen=True, slots=True)
class _Index:
    """What is looked for in a text, by where it stands: what is called by its end alone, for a call over several lines
    begins, for the interpreter, at the name that is called."""

    calls: dict[_End, python.Call]
    wholes: dict[tuple[_End, _End], python.BinOp | python.Compare | python.Lambda]
    definitions: list[_Node]


@lru_cache(maxsize=16)
def _index(text: str) -> _Index:
    try:
        nodes = list(python.walk(python.parse(text)))
    except SyntaxError:
        nodes = []
    wholes = [each for each in nodes if isinstance(each, python.BinOp | python.Compare | python.Lambda)]
    return _Index(
        {_end(each): each for each in nodes if isinstance(each, python.Call)},
        {((each.lineno, each.col_offset), _end(each)): each for each in wholes},
        [each for each in nodes if isinstance(each, _Node)],
    )


def _end(node: python.expr) -> _End:
    return node.end_lineno or 0, node.end_col_offset or 0


def _at(span: Span) -> python.BinOp | python.Compare | python.Lambda | None:
    """The operation or lambda that stands there."""
    source = span.source
    where = _line_and_byte(source, span.start), _line_and_byte(source, span.end)
    return _index(source.text).wholes.get(where)


def _line_and_byte(source: Source, offset: int) -> _End:
    """Line and column of an offset as Python's trees count them: columns in bytes from 0."""
    line, column = source.line_column(offset)
    return line, len(source.line(line)[: column - 1].encode())


def said(error: BaseException) -> str:
    """What the user's own code has raised, as Python says it."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


_collector: ContextVar[Diagnostics | None] = ContextVar("ghcm_problems", default=None)


@contextmanager
def collecting() -> Generator[Diagnostics]:
    """Collect what is reported inside. Whoever is outermost raises it; an inner block adds to the same collection."""
    outer = _collector.get()
    if outer is not None:
        yield outer
        return
    problems = Diagnostics()
    token = _collector.set(problems)
    try:
        yield problems
    finally:
        _collector.reset(token)


def mistake(code: str, message: str, span: Span | None, *, detail: str = "", hint: str = "") -> ProgramError:
    """One mistake as an exception, for where nothing sensible can be returned."""
    return ProgramError([Diagnostic(code, message, span, detail, hint)])


def report(code: str, message: str, span: Span | None, *, detail: str = "", hint: str = "") -> None:
    """Note one mistake and go on; ProgramError where nobody collects."""
    keep(mistake(code, message, span, detail=detail, hint=hint))


class noting:
    """Note the mistakes that end the block, and go on behind it; raise them where nobody collects."""

    def __enter__(self) -> None:
        """The block begins."""

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if isinstance(error, ProgramError):
            keep(error)
        return isinstance(error, ProgramError)


def keep(error: ProgramError) -> None:
    """Note the mistakes of an exception and go on; raise it where nobody collects."""
    problems = _collector.get()
    if problems is None:
        raise error
    problems.found += [each for each in error.diagnostics if each not in problems.found]
