"""How the values of one key become one: the shapes that the compiler can prove associative and commutative.

`prove` reads the body of a reducer lambda. What it recognises is kept as a tree of built-in reducers, which every
engine may split freely; anything else stays a
lambda that is claimed (`@associative @commutative`), or ordered and reduced unsplit.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ghcm.expr import Call, Expr, Get, Lambda, MakeStruct, Var
from ghcm.normal_forms import any_order, normal
from ghcm.types import Decimal, Duration, Float, Int, Struct, Type, is_nullable
from ghcm.unification import sum_of_many


class Kind(Enum):
    """A built-in reducer. Sums of int and duration accumulate without bound and are checked when emitted (overflow);
    float sums may be added in any order."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"
    ALL = "all"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Builtin:
    """One built-in reducer over a value of `type`."""

    kind: Kind
    type: Type


@dataclass(frozen=True, slots=True)
class Fields:
    """A reducer per field of a struct or tuple value."""

    parts: tuple[Reducer, ...]
    type: Struct


@dataclass(frozen=True, slots=True)
class Custom:
    """A user's lambda `(a, b) => ...`. `claimed`: it is associative and commutative, as the user says or normal forms
    show; else the group is reduced from the left in ascending `order`."""

    function: Lambda
    claimed: bool
    order: Lambda | None


Reducer: TypeAlias = Builtin | Fields | Custom


class Phase(Enum):
    """What an aggregation has of its groups: all; any part of each, so that an engine may give several of a key; or
    such parts, of which it makes all.
    """

    WHOLE = "whole"
    PARTIAL = "partial"
    MERGE = "merge"


class AggregateFunction(Enum):
    """An aggregate of `aggregate_by_key` and of publish arguments. All skip nulls; what each means stands in
    `ghcm.aggregates`."""

    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"
    VAR = "var"
    STD = "std"
    FIRST = "first"
    LAST = "last"
    COLLECT = "collect"
    DISTINCT_COUNT = "distinct_count"
    APPROX_DISTINCT = "approx_distinct"
    QUANTILE = "quantile"
    TOP_K = "top_k"
    MEDIAN = "median"
    MODE = "mode"
    COVAR = "covar"
    CORR = "corr"
    FOLD = "fold"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`name = function(argument)`: a column of an aggregation. `argument` None only for `count()`. `type` is the
    result's.

    `fraction` belongs to `quantile`, `limit` to `top_k`, and to `first` and `last` of several. These two go by `order`,
    by the order in which records come (`arrival`), or else by event time.

    Of `fold` the argument is what a value is by itself, of which `reducer` makes one of two; without a reducer it is
    the value, and the records are taken in order. `finish` makes the result of what is reduced, null of no values, or
    of the list of all values; without it that is the result, as in a part of a group.
    """

    name: str
    function: AggregateFunction
    argument: Lambda | None
    type: Type
    fraction: float | None = None
    limit: int | None = None
    order: Lambda | None = None
    arrival: bool = False
    reducer: Reducer | None = None
    finish: Lambda | None = None

    @property
    def picks_record(self) -> bool:
        """Whether it takes records by their order among the others."""
        ordered = self.function is AggregateFunction.FOLD and self.reducer is None
        return ordered or self.function in (AggregateFunction.FIRST, AggregateFunction.LAST)

    @property
    def by_time(self) -> bool:
        """Whether it reads the event time of records."""
        return self.picks_record and self.order is None and not self.arrival


def splittable(reducer: Reducer) -> bool:
    """Whether a group may be cut anywhere and its parts reduced in any order."""
    match reducer:
        case Builtin():
            return True
        case Fields(parts=parts):
            return all(map(splittable, parts))
        case Custom(claimed=claimed):
            return claimed


def prove(function: Lambda) -> Reducer | None:
    """The reducer that a two-parameter lambda over one type computes in any order, or None where no proof is found: a
    built-in one where its normal form is one, else its own function, of which `any_order` shows it.
    """
    left, right = function.parameters
    for body in (function.body, normal(function.body)):
        if (found := _prove(body, left, right)) is not None:
            return found
    return Custom(function, True, None) if any_order(function) else None


_AGGREGATES = {
    Kind.MIN: AggregateFunction.MIN,
    Kind.MAX: AggregateFunction.MAX,
    Kind.ALL: AggregateFunction.MIN,
    Kind.ANY: AggregateFunction.MAX,
}


def summed(function: Lambda) -> tuple[Aggregate, ...] | None:
    """The aggregates that a two-parameter lambda over one type computes, where sums of decimals are wider than they:
    one by itself, or one for each field; None where no proof is found.
    """
    left, right = function.parameters
    parameter, body = Var("v", left.type), function.body
    if not isinstance(left.type, Struct):
        made = _aggregate("value", body, left, right, parameter)
        return None if made is None else (made,)
    if not isinstance(body, MakeStruct) or not isinstance(body.type, Struct) or body.type.names != left.type.names:
        return None
    parts: list[Aggregate] = []
    for value, field in zip(body.values, left.type.fields, strict=True):
        one, two = (Get(of, field.name, field.type) for of in (left, right))
        part = _aggregate(field.name, value, one, two, Get(parameter, field.name, field.type))
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)


def _aggregate(name: str, body: Expr, left: Expr, right: Expr, argument: Var | Get) -> Aggregate | None:
    match body:
        case Call(function="add", arguments=arguments) if isinstance(left.type, Decimal):
            if {*arguments} != {left, right}:
                return None
            return Aggregate(name, AggregateFunction.SUM, _of(argument), sum_of_many(left.type))
        case _:  # any other is what it is of other types
            proven = _prove(body, left, right)
            if not isinstance(proven, Builtin) or is_nullable(proven.type):
                return None
            found = _AGGREGATES.get(proven.kind, AggregateFunction.SUM)
            return Aggregate(name, found, _of(argument), proven.type)


def _of(argument: Var | Get) -> Lambda:
    parameter = argument if isinstance(argument, Var) else Var("v", argument.of.type)
    return Lambda((parameter,), argument)


_KINDS = {"add": Kind.SUM, "least": Kind.MIN, "greatest": Kind.MAX, "and": Kind.ALL, "or": Kind.ANY}


def _prove(body: Expr, left: Expr, right: Expr) -> Reducer | None:
    match body:
        case Call(function=name, arguments=(first, second), type=type_) if name in _KINDS:
            if {first, second} != {left, right} or first == second:
                return None
            if name == "add" and not isinstance(type_, Int | Float | Duration):
                return None
            return Builtin(_KINDS[name], type_)
        case MakeStruct(values=values, type=Struct() as type_):
            if not isinstance(left.type, Struct) or left.type != type_:
                return None
            parts = [
                _prove(value, Get(left, field.name, field.type), Get(right, field.name, field.type))
                for value, field in zip(values, type_.fields, strict=True)
            ]
            proven = tuple(part for part in parts if part is not None)
            return Fields(proven, type_) if len(proven) == len(parts) else None
        case _:  # no other body is proven
            return None
