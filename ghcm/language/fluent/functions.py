"""Functions for lambdas where Python's own words cannot be traced; aggregates; claims about reducers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ghcm.language import ast
from ghcm.language.fluent.places import here
from ghcm.language.fluent.problems import mistake
from ghcm.language.fluent.traced import Traced, call
from ghcm.language.fluent.values import expr_of, plain
from ghcm.source import Span

_F = TypeVar("_F", bound=Callable[..., Any])


class _Functions:
    """Every function of the language by its name: `fn.max(a, b)`, `fn.to_float("nan")`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def called(*arguments: object, **named: object) -> Traced:
            span = here()
            return call(ast.Ref(plain(name), span), span, *arguments, **named)

        return called


fn = _Functions()


class agg:
    """Aggregates of a field (`agg.min("ts")`), an expression (`agg.sum(lambda f: f.bytes)`), or the value itself."""

    @staticmethod
    def count(of: str | Callable[[Any], Any] | None = None) -> Any:
        """How many records, or how many values that are not null."""
        return _aggregate("count", of)

    @staticmethod
    def sum(of: str | Callable[[Any], Any] | None = None) -> Any:
        """The sum, null of nothing."""
        return _aggregate("sum", of)

    @staticmethod
    def mean(of: str | Callable[[Any], Any] | None = None) -> Any:
        """The mean, null of nothing."""
        return _aggregate("mean", of)

    @staticmethod
    def min(of: str | Callable[[Any], Any] | None = None) -> Any:
        """The least, null of nothing."""
        return _aggregate("min", of)

    @staticmethod
    def max(of: str | Callable[[Any], Any] | None = None) -> Any:
        """The greatest, null of nothing."""
        return _aggregate("max", of)

    @staticmethod
    def var(of: str | Callable[[Any], Any] | None = None) -> Any:
        """The sample variance, null of fewer than two values."""
        return _aggregate("var", of)

    @staticmethod
    def std(of: str | Callable[[Any], Any] | None = None) -> Any:
        """The sample standard deviation, null of fewer than two values."""
        return _aggregate("std", of)

    @staticmethod
    def first(of: str | Callable[[Any], Any] | None = None, *, order: str | Callable[[Any], Any] | None = None) -> Any:
        """The value that comes first by event time, or by `order`."""
        return _aggregate("first", of, order=order)

    @staticmethod
    def last(of: str | Callable[[Any], Any] | None = None, *, order: str | Callable[[Any], Any] | None = None) -> Any:
        """The value that comes last by event time, or by `order`."""
        return _aggregate("last", of, order=order)

    @staticmethod
    def collect(of: str | Callable[[Any], Any] | None = None) -> Any:
        """The values as an ascending list."""
        return _aggregate("collect", of)

    @staticmethod
    def distinct_count(of: str | Callable[[Any], Any] | None = None) -> Any:
        """How many different values."""
        return _aggregate("distinct_count", of)

    @staticmethod
    def approx_distinct(of: str | Callable[[Any], Any] | None = None) -> Any:
        """About how many different values, in bounded memory."""
        return _aggregate("approx_distinct", of)

    @staticmethod
    def quantile(of: str | Callable[[Any], Any], fraction: float) -> Any:
        """The value that so large a fraction of the values does not exceed."""
        return _aggregate("quantile", of, fraction)

    @staticmethod
    def top_k(of: str | Callable[[Any], Any], count: int) -> Any:
        """The so many greatest values as a descending list."""
        return _aggregate("top_k", of, count)


def _aggregate(name: str, of: object, *others: object, order: object = None) -> Traced:
    span = here()
    if of is None and order is None:
        return Traced(ast.Ref(name, span)) if name != "count" else call(ast.Ref(name, span), span)
    arguments = [] if of is None else [ast.Argument(_function(of, span), None, span)]
    arguments += [ast.Argument(expr_of(each, span), None, span) for each in others]
    arguments += [] if order is None else [ast.Argument(_function(order, span), "order", span)]
    return Traced(ast.Apply(ast.Ref(name, span), tuple(arguments), None, span))


def _function(of: object, span: Span) -> ast.Expr:
    return _path(of, span) if isinstance(of, str) else expr_of(of, span)


def _path(text: str, span: Span) -> ast.Expr:
    first, *rest = text.split(".")
    if not all(part.isidentifier() for part in (first, *rest)):
        raise mistake("GHCM-132", f'"{text}" is no field', span, hint='write the name of a field: "ts"')
    found: ast.Expr = ast.Ref(first, span)
    for part in rest:
        found = ast.Attribute(found, part, span, span)
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
