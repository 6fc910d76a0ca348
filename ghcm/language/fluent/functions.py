"""Functions, choices and aggregates for lambdas, where Python's own words cannot be traced; claims about reducers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from ghcm.language import ast
from ghcm.language.fluent.positions import here, mistake
from ghcm.language.fluent.records import Record
from ghcm.language.fluent.tracing import Traced, call, expr_of
from ghcm.language.fluent.values import FieldsOf, plain
from ghcm.source import Span


def if_else(condition: object, yes: object, no: object) -> Any:
    """`if condition then yes else no`."""
    span = here()
    return Traced(ast.IfElse(expr_of(condition, span), expr_of(yes, span), expr_of(no, span), span=span))


def fields(record: object) -> dict[str, Any]:
    """All fields of a record, for another one: `{**fields(order), "total": order.net + order.tax}` is
    `{ ...order, total: order.net + order.tax }` in text.
    """
    return {FieldsOf.another(): record}


def is_(union: object, record: type[Record]) -> Any:
    """`e is Login`: whether a union is that record."""
    span = here()
    return Traced(ast.Binary("is", expr_of(union, span), expr_of(record, span), span=span))


@dataclass(frozen=True, slots=True)
class between:
    """`first..last` as a pattern of `match_`: both ends belong to it."""

    first: Any
    last: Any


_OPEN = object()


def match_(subject: object, cases: Mapping[Any, object], otherwise: object = _OPEN) -> Any:
    """`match subject { "a" or "b" => 1, 3..9 => 2, _ => 0 }`, as
    `match_(subject, {("a", "b"): 1, between(3, 9): 2}, otherwise=0)`.
    """
    span = here()
    found = [ast.Case(_pattern(pattern, span), expr_of(value, span), span=span) for pattern, value in cases.items()]
    if otherwise is not _OPEN:
        found.append(ast.Case(None, expr_of(otherwise, span), span=span))
    return Traced(ast.Match(expr_of(subject, span), tuple(found), span=span))


def _pattern(pattern: object, span: Span) -> ast.Pattern:
    if not isinstance(pattern, tuple):
        return _one_of(pattern, span)
    several = cast("tuple[object, ...]", pattern)
    if len(several) < 2:
        raise mistake("GHCM-132", "a case of several constants has at least two", span)
    return ast.AnyOf(tuple(_one_of(each, span) for each in several), span=span)


def _one_of(pattern: object, span: Span) -> ast.Expr | ast.Range:
    if isinstance(pattern, between):
        return ast.Range(expr_of(pattern.first, span), expr_of(pattern.last, span), span=span)
    if isinstance(pattern, range):
        hint = f"write between({pattern.start}, {pattern.stop - 1}), to which both ends belong"
        raise mistake("GHCM-132", "a range of Python is no case", span, hint=hint)
    return expr_of(pattern, span)


def coalesce(first: object, *others: object) -> Any:
    """`first ?? other`: the first that is not null."""
    span = here()
    found = expr_of(first, span)
    for other in others:
        found = ast.Binary("??", found, expr_of(other, span), span=span)
    return Traced(found)


def try_(value: object) -> Any:
    """`try(value)`: null where it fails, as in `try_(f.text.to_int())`."""
    span = here()
    return call(ast.Ref("try", span=span), span, value)


_F = TypeVar("_F", bound=Callable[..., Any])


class _Functions:
    """Every function of the language by its name: `fn.max(a, b)`, `fn.to_float("nan")`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def called(*arguments: object, **named: object) -> Traced:
            span = here()
            return call(ast.Ref(plain(name), span=span), span, *arguments, **named)

        return called


fn = _Functions()


_Of = str | Callable[[Any], Any]
"""What an aggregate is of: a field by its name, or an expression."""


class _Aggregate(Protocol):
    def __call__(self, of: _Of | None = None, *, where: _Of | None = None) -> Any: ...


class _Arrival:
    """The order in which records come to a stream unit: `agg.last("price", order=arrival)`."""


arrival = _Arrival()


class _Ordered(Protocol):
    def __call__(
        self,
        of: _Of | None = None,
        count: int | None = None,
        *,
        order: _Of | _Arrival | None = None,
        where: _Of | None = None,
    ) -> Any: ...


def _aggregate(name: str) -> _Aggregate:
    def aggregate(of: _Of | None = None, *, where: _Of | None = None) -> Any:
        return _made(name, of, where=where)

    aggregate.__qualname__ = f"agg.{name}"  # as Python's own messages call it
    return aggregate


def _ordered(name: str) -> _Ordered:
    def aggregate(
        of: _Of | None = None,
        count: int | None = None,
        *,
        order: _Of | _Arrival | None = None,
        where: _Of | None = None,
    ) -> Any:
        return _made(name, of, *([] if count is None else [count]), order=order, where=where)

    aggregate.__qualname__ = f"agg.{name}"
    return aggregate


class agg:
    """Aggregates of a field (`agg.min("ts")`), an expression (`agg.sum(lambda f: f.bytes)`), or the value itself.

    What each gives is in the table of the aggregates; `first` and `last` go by event time, or by `order`, which may be
    `arrival`, and take how many they give. All take the
    records alone for which `where` is true: `agg.count(where=lambda f: f.bytes > 0)`.
    """

    count = staticmethod(_aggregate("count"))
    sum = staticmethod(_aggregate("sum"))
    min = staticmethod(_aggregate("min"))
    max = staticmethod(_aggregate("max"))
    var = staticmethod(_aggregate("var"))
    std = staticmethod(_aggregate("std"))
    first = staticmethod(_ordered("first"))
    last = staticmethod(_ordered("last"))
    collect = staticmethod(_aggregate("collect"))
    distinct_count = staticmethod(_aggregate("distinct_count"))
    approx_distinct = staticmethod(_aggregate("approx_distinct"))
    median = staticmethod(_aggregate("median"))
    mode = staticmethod(_aggregate("mode"))

    @staticmethod
    def mean(of: _Of | None = None, *, scale: int | None = None, where: _Of | None = None) -> Any:
        """The mean as a float; with a scale as a decimal of so many digits behind the point."""
        return _made("mean", of, scale=scale, where=where)

    @staticmethod
    def quantile(of: _Of, fraction: float, *, where: _Of | None = None) -> Any:
        """The value that so large a fraction of the values does not exceed."""
        return _made("quantile", of, fraction, where=where)

    @staticmethod
    def top_k(of: _Of, count: int, *, where: _Of | None = None) -> Any:
        """The so many greatest values as a descending list."""
        return _made("top_k", of, count, where=where)

    @staticmethod
    def fold(
        of: _Of,
        initial: object,
        add: Callable[[Any, Any], Any],
        *,
        merge: Callable[[Any, Any], Any] | None = None,
        result: Callable[[Any], Any] | None = None,
        order: _Of | None = None,
        where: _Of | None = None,
    ) -> Any:
        """An aggregate of one's own: what it begins with, how a value is added, how two become one, what is given."""
        return _made("fold", of, initial, add, merge=merge, result=result, order=order, where=where)

    @staticmethod
    def covar(of: _Of, other: _Of, *, where: _Of | None = None) -> Any:
        """The sample covariance of two numbers."""
        return _made_of_two("covar", of, other, where)

    @staticmethod
    def corr(of: _Of, other: _Of, *, where: _Of | None = None) -> Any:
        """Pearson's correlation of two numbers."""
        return _made_of_two("corr", of, other, where)


def _made(name: str, of: object, *others: object, **options: object) -> Traced:
    span, given = here(), {key: each for key, each in options.items() if each is not None}
    if of is None and not given:
        return Traced(ast.Ref(name, span=span)) if name != "count" else call(ast.Ref(name, span=span), span)
    arguments = [] if of is None else [ast.Argument(_function(of, span), span=span)]
    arguments += [ast.Argument(expr_of(each, span), span=span) for each in others]
    arguments += [ast.Argument(_function(each, span), key, span=span) for key, each in given.items()]
    return Traced(ast.Apply(ast.Ref(name, span=span), tuple(arguments), span=span))


def _made_of_two(name: str, of: _Of, other: _Of, where: _Of | None) -> Traced:
    span = here()
    both = [ast.Argument(_function(each, span), span=span) for each in (of, other)]
    condition = [] if where is None else [ast.Argument(_function(where, span), "where", span=span)]
    return Traced(ast.Apply(ast.Ref(name, span=span), (*both, *condition), span=span))


def _function(of: object, span: Span) -> ast.Expr:
    if isinstance(of, _Arrival):
        return ast.Ref("arrival", span=span)
    return _path(of, span) if isinstance(of, str) else expr_of(of, span)


def _path(text: str, span: Span) -> ast.Expr:
    first, *rest = text.split(".")
    if not all(part.isidentifier() for part in (first, *rest)):
        raise mistake("GHCM-132", f'"{text}" is no field', span, hint='write the name of a field: "ts"')
    found: ast.Expr = ast.Ref(first, span=span)
    for part in rest:
        found = ast.Attribute(found, part, span, span=span)
    return found


def associative(function: _F) -> _F:
    """Claim that a reducer gives the same however its input is grouped."""
    return _claimed(function, "associative")


def commutative(function: _F) -> _F:
    """Claim that a reducer gives the same in whatever order its input comes."""
    return _claimed(function, "commutative")


def _claimed(function: _F, claim: str) -> _F:
    claims: tuple[str, ...] = getattr(function, "__ghcm_claims__", ())
    function.__ghcm_claims__ = (claim, *claims)  # type: ignore[attr-defined]
    return function
