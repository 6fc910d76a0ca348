"""Typed, pure expressions: what stands inside a task, after names and types are known.

One small tree for both front ends and every engine. Operators of the languages are calls of functions in
`ghcm.functions`; conversions that
the language makes by itself (int to float, int32 to int) are explicit calls here. This module neither checks nor
evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ghcm.types import Type

Value: TypeAlias = object
"""A canonical value, see `ghcm.types`."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: a canonical value of `type`."""

    value: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Var:
    """A name that is bound around it: a parameter of the lambda (the record, or the value of a scalar collection), the
    item of a `ForEach`, the value of a `Let`. The innermost binding of a name counts.
    """

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of the responsive unit: one value for the whole call."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Get:
    """Field `field` of a struct. A null struct gives null (the type says so)."""

    of: Expr
    field: str
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the table `ghcm.functions` on arguments of exactly its signature."""

    function: str
    arguments: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class If:
    """`then` where `condition` is true, `otherwise` where it is false or null; only the branch taken can fail."""

    condition: Expr
    then: Expr
    otherwise: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class MakeStruct:
    """A struct value; `values` in the order of the fields of `type` (a `Struct`). Tuples are structs `_1`, `_2`, ..."""

    values: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class MakeList:
    """A list value of `type` (a `List`)."""

    items: tuple[Expr, ...]
    type: Type


class Each(Enum):
    """What is done with the value that `ForEach` computes for each item."""

    MAP = "map"
    FILTER = "filter"
    ANY = "any"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ForEach:
    """`body` for each item of a list, which `item` names in it; null for a null list.

    It is evaluated for every item, in order: a record fails where it fails for any of them. `MAP` gives the list of the
    values, `FILTER` the items for which it is true, `ANY` and `ALL` are `or` and `and` of the values, null as there.
    """

    kind: Each
    list: Expr
    item: Var
    body: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Let:
    """`body`, in which `variable` stands for a value that is computed once, first, whether or not it is mentioned."""

    variable: Var
    value: Expr
    body: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Try:
    """The value of `body`, null where it fails."""

    body: Expr
    type: Type


Expr: TypeAlias = Literal | Var | Param | Get | Call | If | MakeStruct | MakeList | ForEach | Let | Try


@dataclass(frozen=True, slots=True)
class Lambda:
    """A function of records: its parameters with their types, and the body that mentions them as `Var`."""

    parameters: tuple[Var, ...]
    body: Expr


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct parts of an expression, in order of evaluation."""
    match expr:
        case Literal() | Var() | Param():
            return ()
        case Get(of=of):
            return (of,)
        case Call(arguments=arguments):
            return arguments
        case If(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case MakeStruct(values=values):
            return values
        case MakeList(items=items):
            return items
        case ForEach(list=of, body=body):
            return (of, body)
        case Let(value=value, body=body):
            return (value, body)
        case Try(body=body):
            return (body,)


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with `change` applied to every node, parts before wholes; the same object where nothing
    changed."""
    parts = tuple(rebuild(part, change) for part in children(expr))
    if any(new is not old for new, old in zip(parts, children(expr), strict=True)):
        expr = with_children(expr, parts)
    return change(expr)


def with_children(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
    """The expression with other parts in the places of `children`."""
    match expr:
        case Literal() | Var() | Param():
            return expr
        case Get():
            return Get(parts[0], expr.field, expr.type)
        case Call():
            return Call(expr.function, parts, expr.type)
        case If():
            return If(parts[0], parts[1], parts[2], expr.type)
        case MakeStruct():
            return MakeStruct(parts, expr.type)
        case MakeList():
            return MakeList(parts, expr.type)
        case ForEach():
            return ForEach(expr.kind, parts[0], expr.item, parts[1], expr.type)
        case Let():
            return Let(expr.variable, parts[0], parts[1], expr.type)
        case Try():
            return Try(parts[0], expr.type)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its parts, wholes first."""
    yield expr
    for part in children(expr):
        yield from walk(part)
