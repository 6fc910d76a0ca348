"""Pipelines: what operators are called on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache, wraps
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, Literal, NoReturn, ParamSpec

from ghcm.errors import ProgramError
from ghcm.language import ast
from ghcm.language.fluent.annotations import type_of
from ghcm.language.fluent.arguments import arguments_of
from ghcm.language.fluent.columns import Unknown, no_column
from ghcm.language.fluent.operands import call_operands
from ghcm.language.fluent.places import here
from ghcm.language.fluent.problems import keep, mistake
from ghcm.language.fluent.python_functions import python_function
from ghcm.language.fluent.recording import current
from ghcm.language.fluent.references import later, next_order
from ghcm.language.fluent.values import plain
from ghcm.operators import OPERATORS
from ghcm.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ghcm.language.fluent.records import Record


Row = Callable[[Any], Any]
Two = Callable[[Any, Any], Any]
Duration = str | timedelta

_P = ParamSpec("_P")


def _operator(method: Callable[_P, Pipeline]) -> Callable[_P, Pipeline]:
    """The operator of a method's name, which takes what the method's signature says; the method's body is not used.

    Arguments go into the tree as they are given, so that both front ends write the same. What the signature refuses
    goes there too, to be refused with a place and a hint.
    """

    @cache
    def parameters() -> Signature:
        return signature(method)

    @wraps(method)
    def called(*values: _P.args, **options: _P.kwargs) -> Pipeline:
        pipeline, *given = values
        assert isinstance(pipeline, Pipeline)
        operator = plain(method.__name__)
        by_name = [each.name for each in OPERATORS[operator].arguments if not each.positional]
        try:
            names = list(parameters().bind(*values, **options).signature.parameters)[1:]
        except TypeError:
            names = []
        moved = {name: value for name, value in zip(names, given, strict=False) if name in by_name}
        return pipeline.then(operator, *given[: len(given) - len(moved)], **moved, **options)

    return called


def _as_given() -> Pipeline:
    raise AssertionError("the decorator makes the pipeline")


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
        places = call_operands(span)
        function = ast.Attribute(later(self, span), name, span, places.name)
        return Pipeline(ast.Apply(function, arguments_of(name, values, options, places), None, span), span)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Pipeline]:
            """An operator that does not exist goes into the tree, to be refused with a place and a hint."""
            if name.startswith("_"):
                raise AttributeError(name)
            return Unknown(plain(name), self.then)

    # --- rows

    @_operator
    def as_(self, record: type[Record]) -> Pipeline:
        """Decode raw records; what does not fit is a dead letter."""
        return _as_given()

    @_operator
    def event_time(self, time: Row, disorder: Duration | None = None, idle: Duration | None = None) -> Pipeline:
        """Declare when a record happened, how far records may come out of order, and how long a silent source holds
        event time back.
        """
        return _as_given()

    @_operator
    def filter(self, predicate: Row) -> Pipeline:
        """Keep the records for which the predicate is true."""
        return _as_given()

    @_operator
    def map(self, function: Row) -> Pipeline:
        """One record for one record."""
        return _as_given()

    @_operator
    def flat_map(self, function: Row) -> Pipeline:
        """The items of a list for one record."""
        return _as_given()

    @_operator
    def map_to_pair(self, function: Row) -> Pipeline:
        """A pair (key, value) for one record."""
        return _as_given()

    @_operator
    def map_values(self, function: Row) -> Pipeline:
        """A new value under the same key."""
        return _as_given()

    @_operator
    def key_by(self, function: Row) -> Pipeline:
        """The record itself under a key made from it."""
        return _as_given()

    @_operator
    def union(self, *others: Pipeline) -> Pipeline:
        """All records of all inputs."""
        return _as_given()

    @_operator
    def sample(self, fraction: float, seed: int | None = None) -> Pipeline:
        """A part of the records by a hash of their fields and the seed, the same in every run."""
        return _as_given()

    def python(
        self,
        function: str | Callable[..., object],
        result: object = None,
        *,
        by: Literal["row", "batch"] | None = None,
    ) -> Pipeline:
        """A Python function by row or by batch: itself, or `"module:function"` and the type of its result.

        A function that is given itself says its result in its own annotation.
        """
        span = here()
        name, annotation = python_function(function, span)
        wanted = annotation if result is None else result
        called = self.then("python", name, by=by)
        assert isinstance(called._expr, ast.Apply)
        if wanted is not None:
            try:
                type_ = type_of(wanted, span)
            except ProgramError as error:
                keep(error)
            else:
                called._expr = ast.Apply(called._expr.function, called._expr.arguments, type_, span)
        return called

    # --- windows and groups

    @_operator
    def window(self, assigner: object, allowed_lateness: Duration | None = None) -> Pipeline:
        """Put records into windows of event time: `tumbling("10s")`, `sliding("1m", "10s")`, `session("5m")`."""
        return _as_given()

    @_operator
    def reduce_by_key(self, function: Two, order: Row | None = None) -> Pipeline:
        """One value per key."""
        return _as_given()

    @_operator
    def aggregate_by_key(self, *aggregates: object, **named: object) -> Pipeline:
        """Named aggregates per key: `n=agg.count(), total=agg.sum("bytes")`."""
        return _as_given()

    @_operator
    def group_by_key(self) -> Pipeline:
        """The values of a key as a list in ascending order."""
        return _as_given()

    @_operator
    def count(self) -> Pipeline:
        """How many, per key where there are keys."""
        return _as_given()

    @_operator
    def distinct(self) -> Pipeline:
        """Each different record once."""
        return _as_given()

    @_operator
    def sort(self, by: Row, *, descending: bool | None = None) -> Pipeline:
        """In order; bounded input only."""
        return _as_given()

    @_operator
    def top(self, count: int, by: Row, *, ascending: bool | None = None) -> Pipeline:
        """The greatest by a value, of each window where records are in windows; else of bounded input."""
        return _as_given()

    @_operator
    def join(
        self,
        other: Pipeline,
        on: Two | None = None,
        *,
        kind: Literal["inner", "left", "right", "full", "semi", "anti"] | None = None,
        within: Duration | None = None,
        asof: bool | None = None,
    ) -> Pipeline:
        """Records of both inputs that belong together; `asof`: of the right ones the latest at or before each left."""
        return _as_given()

    @_operator
    def iterate(self, step: Callable[[Pipeline], Pipeline], until: Two | None = None, *, limit: object) -> Pipeline:
        """A step repeated until a condition over totals holds, at most `limit` times:
        `x.iterate(lambda s: s.union(...), until=lambda before, after: after.count() == before.count(), limit=9)`.
        """
        return _as_given()

    @_operator
    def changes(self) -> Pipeline:
        """The pairs of a table as records, as its values change."""
        return _as_given()

    # --- ends and reads

    @_operator
    def read(self, key: object = None) -> Pipeline:
        """A copy of a table's state, or one key of it."""
        return _as_given()

    @_operator
    def to(self, sink: object) -> Pipeline:
        """Write to a sink."""
        return _as_given()

    @_operator
    def publish(
        self,
        call: object,
        *,
        every: int | Duration | None = None,
        when: Row | None = None,
        on: Literal["window_close", "completion"] | None = None,
        at_end: bool | None = None,
    ) -> Pipeline:
        """Call a responsive unit by a policy: every N records, every duration, when a condition holds, on an event."""
        return _as_given()

    @_operator
    def reply(self) -> Pipeline:
        """Make this the result of the call."""
        return _as_given()

    @_operator
    def named(self, name: str) -> Pipeline:
        """Name the task before it, where no variable does."""
        return _as_given()


def start(name: str, values: tuple[object, ...], options: Mapping[str, object]) -> Pipeline:
    """A pipeline that begins with a call: a source, a union, a connector."""
    span = here()
    return Pipeline(applied(name, values, options, span), span)


def applied(name: str, values: tuple[object, ...], options: Mapping[str, object], span: Span) -> ast.Expr:
    """The call of a source, connector or window."""
    places = call_operands(span)
    return ast.Apply(ast.Ref(name, places.name), arguments_of(name, values, options, places), None, span)
