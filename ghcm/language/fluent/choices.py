"""Choices for lambdas, where Python's own words cannot be traced: `if`, `match`, `??` and `try`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ghcm.language import ast
from ghcm.language.fluent.places import here
from ghcm.language.fluent.problems import mistake
from ghcm.language.fluent.records import Record
from ghcm.language.fluent.traced import Traced, call
from ghcm.language.fluent.values import expr_of
from ghcm.source import Span


def if_else(condition: object, yes: object, no: object) -> Any:
    """`if condition then yes else no`."""
    span = here()
    return Traced(ast.IfElse(expr_of(condition, span), expr_of(yes, span), expr_of(no, span), span))


def is_(union: object, record: type[Record]) -> Any:
    """`e is Login`: whether a union is that record."""
    span = here()
    return Traced(ast.Binary("is", expr_of(union, span), expr_of(record, span), span))


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
    found = [ast.Case(_pattern(pattern, span), expr_of(value, span), span) for pattern, value in cases.items()]
    if otherwise is not _OPEN:
        found.append(ast.Case(None, expr_of(otherwise, span), span))
    return Traced(ast.Match(expr_of(subject, span), tuple(found), span))


def _pattern(pattern: object, span: Span) -> ast.Pattern:
    if not isinstance(pattern, tuple):
        return _one_of(pattern, span)
    several = cast("tuple[object, ...]", pattern)
    if len(several) < 2:
        raise mistake("GHCM-132", "a case of several constants has at least two", span)
    return ast.AnyOf(tuple(_one_of(each, span) for each in several), span)


def _one_of(pattern: object, span: Span) -> ast.Expr | ast.Range:
    if isinstance(pattern, between):
        return ast.Range(expr_of(pattern.first, span), expr_of(pattern.last, span), span)
    if isinstance(pattern, range):
        hint = f"write between({pattern.start}, {pattern.stop - 1}), to which both ends belong"
        raise mistake("GHCM-132", "a range of Python is no case", span, hint=hint)
    return expr_of(pattern, span)


def coalesce(first: object, *others: object) -> Any:
    """`first ?? other`: the first that is not null."""
    span = here()
    found = expr_of(first, span)
    for other in others:
        found = ast.Binary("??", found, expr_of(other, span), span)
    return Traced(found)


def try_(value: object) -> Any:
    """`try(value)`: null where it fails, as in `try_(f.text.to_int())`."""
    span = here()
    return call(ast.Ref("try", span), span, value)
