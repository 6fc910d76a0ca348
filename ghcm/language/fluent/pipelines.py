"""Pipelines: what operators are called on, and the arguments that they are given.

A method of a pipeline is an operator of the table, and its arguments go into the tree as the table asks for them:
strings become durations and names where it wants these (`disorder="10s"`, `format="json"`). Nothing is checked here:
names, numbers and kinds of arguments are checked where both front ends pass.
"""

# The operators are signatures alone; what each means stands in the table, and `_operator` gives it what it does.
# ruff: noqa: D102
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, wraps
from inspect import Signature, iscoroutinefunction, isfunction, signature
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

from ghcm.language import ast
from ghcm.language.fluent.columns import Unknown, no_column
from ghcm.language.fluent.positions import Operands, call_operands, caller, here, mistake, noting
from ghcm.language.fluent.python_words import python_function
from ghcm.language.fluent.records import Record, type_of
from ghcm.language.fluent.tracing import expr_of, trace
from ghcm.language.fluent.values import Later, duration_of, fields_of, later, next_order, plain, resolve
from ghcm.language.literals import parse_duration
from ghcm.operators import OPERATORS, Argument
from ghcm.operators.operator import Kind
from ghcm.source import Span
from ghcm.types import Null

Row = Callable[[Any], Any] | str | tuple[str, ...]  # a function of a record, or names of fields
Two = Callable[[Any, Any], Any]
Duration = str | timedelta


def _operators(pipeline: type[Pipeline]) -> type[Pipeline]:
    """The class, in which each method that is only a signature is the operator of its name."""
    for name, method in list(vars(pipeline).items()):
        if isfunction(method) and plain(name) in OPERATORS and name not in ("python", "process"):
            setattr(pipeline, name, _operator(plain(name), method))
    return pipeline


def _operator(name: str, method: Callable[..., Pipeline]) -> Callable[..., Pipeline]:
    """The operator `name`, which takes what the signature of `method` says.

    Arguments go into the tree as they are given, so that both front ends write the same. What the signature refuses
    goes there too, to be refused with a source position and a hint.
    """
    by_name = [each.name for each in OPERATORS[name].arguments if not each.positional]

    @wraps(method)
    def called(pipeline: Pipeline, *given: object, **options: object) -> Pipeline:
        try:
            names = list(parameters().bind(pipeline, *given, **options).signature.parameters)[1:]
        except TypeError:
            names = []
        moved = {name: value for name, value in zip(names, given, strict=False) if name in by_name}
        return pipeline.then(name, *given[: len(given) - len(moved)], **moved, **options)

    @cache
    def parameters() -> Signature:
        return signature(method)

    called.__doc__ = f"{OPERATORS[name].meaning[:1].upper()}{OPERATORS[name].meaning[1:]}."
    return called


@_operators
class Pipeline:
    """A collection in the making. Every operator gives a new one; the unit's variable that holds it names it."""

    __slots__ = ("__weakref__", "_expr", "order", "span")

    def __init__(self, expr: ast.Expr, span: Span) -> None:
        self._expr = expr
        self.span = span
        self.order = next_order()
        body = current()
        if body is not None:
            body.add(self)

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        return later(self, span)

    @property
    def expr(self) -> ast.Expr:
        """Its tree, in which other pipelines are still to be named."""
        return self._expr

    @property
    def ends(self) -> bool:
        """Whether it ends in `to`, `publish` or `reply`."""
        match self._expr:
            case ast.Apply(function=ast.Attribute(name="to" | "publish" | "reply")):
                return True
            case _:
                return False

    def __repr__(self) -> str:
        return f"<pipeline at {self.span.origin}>"

    def __bool__(self) -> bool:
        hint = "a unit is the same whatever its data; choose with .filter(...)"
        raise mistake("GHCM-130", "a collection is neither true nor false", here(), hint=hint)

    def __iter__(self) -> Iterator[Any]:
        hint = "write .map(...) or .flat_map(...)"
        raise mistake("GHCM-130", "a collection cannot be looped over while it is described", here(), hint=hint)

    def __len__(self) -> int:
        hint = "write .count()"
        raise mistake("GHCM-130", "a collection has no length while it is described", here(), hint=hint)

    def __getitem__(self, name: object) -> NoReturn:
        raise no_column(name)

    def then(self, name: str, /, *values: object, **options: object) -> Pipeline:
        """Any operator by its name; the methods below are the ones that exist."""
        span = here()
        operands = call_operands(span)
        function = ast.Attribute(later(self, span), name, operands.name, span=span)
        return Pipeline(ast.Apply(function, arguments_of(name, values, options, operands), span=span), span)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Pipeline]:
            """An operator that does not exist goes into the tree, to be refused with its source position and a hint."""
            if name.startswith("_"):
                raise AttributeError(name)
            return Unknown(plain(name), self.then)

    def python(
        self,
        function: str | Callable[..., object],
        result: object = None,
        *,
        by: Literal["row", "batch", "async"] | None = None,
        parallel: int | None = None,
        timeout: Duration | None = None,
        retries: int | None = None,
        ordered: bool | None = None,
    ) -> Pipeline:
        """A Python function by row or by batch, or an async one: itself, whose annotation says its result, or
        `"module:function"` and the type of its result.
        """
        by = by or ("async" if iscoroutinefunction(function) else None)
        span = here()
        name, annotation = python_function(function, span)
        wanted = annotation if result is None else result
        called = self.then("python", name, by=by, parallel=parallel, timeout=timeout, retries=retries, ordered=ordered)
        return called._of_type(wanted, span)

    def process(self, function: str | Callable[..., object], result: object = None, *, state: object) -> Pipeline:
        """A Python function that goes through the values of a key: itself or `"module:function"`, the type of the
        values that it gives on, and the record that it keeps of a key.
        """
        span = here()
        name, _ = python_function(function, span)
        return self.then("process", name, state=state)._of_type(result, span)

    def _of_type(self, result: object, span: Span) -> Pipeline:
        """This call with the type behind it, if one is said."""
        assert isinstance(self._expr, ast.Apply)
        if result is not None:
            with noting():
                self._expr = replace(self._expr, result=type_of(result, span), span=span)
        return self

    # --- the operators of the table: signatures, for editors and type checkers

    def as_(self, record: type[Record]) -> Pipeline: ...
    def event_time(self, time: Row, disorder: Duration | None = None, idle: Duration | None = None) -> Pipeline: ...
    def filter(self, predicate: Row) -> Pipeline: ...
    def map(self, function: Row) -> Pipeline: ...
    def flat_map(self, function: Row) -> Pipeline: ...
    def map_to_pair(self, function: Row) -> Pipeline: ...
    def map_values(self, function: Row) -> Pipeline: ...
    def key_by(self, function: Row) -> Pipeline: ...
    def lookup(  # noqa: PLR0913    each is an option of the operator
        self,
        service: Pipeline,
        *,
        key: Row,
        record: object,
        as_: Two | None = None,
        parallel: int | None = None,
        timeout: Duration | None = None,
        retries: int | None = None,
        cache: Duration | None = None,
        ordered: bool | None = None,
    ) -> Pipeline: ...
    def union(self, *others: Pipeline) -> Pipeline: ...
    def sample(self, fraction: float, seed: int | None = None) -> Pipeline: ...
    def window(self, assigner: object, allowed_lateness: Duration | None = None) -> Pipeline: ...
    def reduce_by_key(self, function: Two, order: Row | None = None, *, ttl: str | None = None) -> Pipeline: ...
    def aggregate_by_key(self, *aggregates: object, ttl: str | None = None, **named: object) -> Pipeline: ...
    def aggregate(self, *aggregates: object, by: Row | None = None, **named: object) -> Pipeline: ...
    def group_by_key(self, *, ttl: str | None = None) -> Pipeline: ...
    def preceding(self, count: int, *, ttl: str | None = None) -> Pipeline: ...
    def absent(self, after: str) -> Pipeline: ...
    def present(self, after: str) -> Pipeline: ...
    def scan(self, first: object, function: Two, *, ttl: str | None = None) -> Pipeline: ...
    def chunks(self, count: int) -> Pipeline: ...
    def count(self, *, ttl: str | None = None) -> Pipeline: ...
    def distinct(self, *, ttl: str | None = None) -> Pipeline: ...
    def sort(self, by: Row, *, descending: bool | None = None) -> Pipeline: ...
    def top(self, count: int, by: Row, *, ascending: bool | None = None) -> Pipeline: ...
    def join(
        self,
        other: Pipeline,
        on: Two | str | tuple[str, ...] | None = None,
        *,
        kind: Literal["inner", "left", "right", "full", "semi", "anti"] | None = None,
        within: Duration | tuple[Duration, Duration] | None = None,
        asof: bool | None = None,
        as_: Two | None = None,
    ) -> Pipeline: ...
    def cross(self, other: Pipeline, *, as_: Two | None = None) -> Pipeline: ...
    def iterate(self, step: Callable[[Pipeline], Pipeline], until: Two | None = None, *, limit: object) -> Pipeline: ...
    def latest(
        self,
        *,
        key: Row | None = None,
        deleted: Row | None = None,
        order: Row | None = None,
        ttl: Duration | None = None,
    ) -> Pipeline: ...
    def changes(self) -> Pipeline: ...
    def read(self, key: object = None) -> Pipeline: ...
    def to(self, sink: object) -> Pipeline: ...
    def publish(
        self,
        call: object,
        *,
        every: int | Duration | None = None,
        when: Row | None = None,
        on: Literal["window_close", "completion"] | None = None,
        at_end: bool | None = None,
        throttle: Duration | None = None,
        key: Row | None = None,
    ) -> Pipeline: ...
    def reply(self) -> Pipeline: ...
    def named(self, name: str) -> Pipeline: ...


def start(name: str, values: tuple[object, ...], options: Mapping[str, object]) -> Pipeline:
    """A pipeline that begins with a call: a source, a union, a connector."""
    span = here()
    return Pipeline(applied(name, values, options, span), span)


def applied(name: str, values: tuple[object, ...], options: Mapping[str, object], span: Span) -> ast.Expr:
    """The call of a source, connector or window."""
    operands = call_operands(span)
    return ast.Apply(ast.Ref(name, span=operands.name), arguments_of(name, values, options, operands), span=span)


# --- arguments -------------------------------------------------------------------------------------------------------

_DURATION = re.compile(r"-?[0-9][0-9_]*(\.[0-9]+)?(us|ms|s|m|h|d)")
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("format", "form", "mode", "delivery", "kind", "by", "on", "time"), "name"),
    "expire": "duration",
}
"""Options whose strings are names or durations where the table does not say more: those of sinks and windows."""
_WINDOWS = ("tumbling", "sliding", "cumulating", "session")


def arguments_of(
    operator: str, values: Sequence[object], options: Mapping[str, object], operands: Operands
) -> tuple[ast.Argument, ...]:
    """The arguments of a call; options that are None are not given. Mistakes are reported and stand as null."""
    declared = OPERATORS[operator].arguments if operator in OPERATORS else ()
    positional = [each for each in declared if each.positional]
    found: list[ast.Argument] = []
    for index, value in enumerate(values):
        wanted, span = positional[min(index, len(positional) - 1)] if positional else None, operands.at(index)
        found.append(ast.Argument(_value(operator, wanted, value, span), span=span))
    for name, value in options.items():
        if value is not None:
            other = Argument(plain(name), _KINDS[plain(name)]) if plain(name) in _KINDS else None
            wanted = next((each for each in declared if each.name == plain(name)), other)
            span = operands.of(name)
            found.append(ast.Argument(_value(operator, wanted, value, span), plain(name), span=span))
    return tuple(found)


def _value(operator: str, wanted: Argument | None, value: object, span: Span) -> ast.Expr:
    with noting():
        if wanted is not None and wanted.kind in ("lambda1", "lambda2") and (fields := fields_of(value, span)):
            return fields
        if isinstance(value, str):
            return _text(operator, wanted, value, span)
        if isinstance(value, tuple) and wanted is not None and wanted.kind == "interval":
            return ast.TupleExpr(tuple(_value(operator, wanted, each, span) for each in cast("Any", value)), span=span)
        given = cast("Any", value)
        step = operator == "iterate" and wanted is not None and wanted.name == "step"
        return _step(given, span) if step and callable(given) else expr_of(given, span)
    return ast.Literal(None, Null(), span=span)


def _text(operator: str, wanted: Argument | None, value: str, span: Span) -> ast.Expr:
    kind = wanted.kind if wanted is not None else ""
    may_be_duration = kind in ("duration", "interval", "int or duration") or operator in _WINDOWS
    if may_be_duration and _DURATION.fullmatch(value):
        return duration_of(parse_duration(value), span)
    if (wanted is not None and value in wanted.choices) or (kind in ("name", "field") and value.isidentifier()):
        return ast.Ref(value, span=span)
    return expr_of(value, span)


def _step(function: Callable[..., object], span: Span) -> ast.Expr:
    """The lambda, whose body is a pipeline, of a function that is given as a step. Pipelines made inside are no
    statements of the unit; they stand where they are used."""
    code = getattr(function, "__code__", None)
    if code is None:
        return trace(function, span)
    with recording(code) as body:
        written = trace(function, span, lambda name: Pipeline(name, span))
    inside = set(body.pipelines)

    def naming(target: object, _: Span | None) -> str | ast.Expr:
        if isinstance(target, Pipeline) and target in inside:
            return target.expr
        return Later.of(target)

    return resolve(written, naming)


# --- what a unit's function says -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Body:
    """What a unit's function says while it runs: its pipelines in order, and its frame, which knows their names."""

    code: CodeType
    pipelines: list[Pipeline] = field(default_factory=list["Pipeline"])
    frame: FrameType | None = None

    def add(self, pipeline: Pipeline) -> None:
        """Note a pipeline that was just made."""
        self.pipelines.append(pipeline)
        frame: FrameType | None = caller()
        while self.frame is None and frame is not None:
            if frame.f_code is self.code:
                self.frame = frame
            frame = frame.f_back


_body: ContextVar[Body | None] = ContextVar("ghcm_body", default=None)


@contextmanager
def recording(code: CodeType) -> Generator[Body]:
    """Collect the pipelines that are made inside."""
    body = Body(code)
    token = _body.set(body)
    try:
        yield body
    finally:
        _body.reset(token)


def current() -> Body | None:
    """What the unit has said whose function runs now; None outside of one."""
    return _body.get()
