"""Typed, pure expressions: what stands inside a task, after names and types are known.

One small tree for both front ends and every engine. Operators of the languages are calls of functions in
`ghcm.functions`; conversions that the language makes by itself (int to float, int32 to int) are explicit calls here.
`ForEach` and `Let` bind a name in their body. This module neither checks nor evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from ghcm.types import Struct, Type, strip

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
    FOLD = "fold"


@dataclass(frozen=True, slots=True)
class ForEach:
    """`body` for each item of a list, which `item` names in it; null for a null list.

    It is evaluated for every item, in order: a record fails where it fails for any of them. `MAP` gives the list of the
    values, `FILTER` the items for which it is true, `ANY` and `ALL` are `or` and `and` of the values, null as there.

    `FOLD` goes from value to value: `list` is a pair of the first one and the list, `item` a pair of the one so far and
    an item, of which `body` makes the next; the last one is given. It fails where a step fails.
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


def folded_from(fold: ForEach) -> tuple[Expr, Expr]:
    """The first value of a fold, and its list."""
    of = fold.list
    if isinstance(of, MakeStruct):
        first, several = of.values
        return first, several
    pair = strip(of.type)
    assert isinstance(pair, Struct)
    first, several = (Get(of, field.name, field.type) for field in pair.fields)
    return first, several


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
    """The expression with other parts instead of `children`."""
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
            return Let(expr.variable, parts[0], parts[1], parts[1].type)
        case Try():
            return Try(parts[0], expr.type)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its parts, wholes first."""
    yield expr
    for part in children(expr):
        yield from walk(part)


def free_names(expr: Expr) -> frozenset[str]:
    """The names that the expression mentions and does not bind itself."""
    match expr:
        case Var(name=name):
            return frozenset((name,))
        case ForEach(list=of, item=variable, body=body) | Let(value=of, variable=variable, body=body):
            return free_names(of) | (free_names(body) - {variable.name})
        case _:  # what binds no name mentions what its parts do
            return frozenset[str]().union(*map(free_names, children(expr)))


def bound_names(*exprs: Expr) -> frozenset[str]:
    """The names that are bound somewhere inside the expressions."""
    parts = (part for expr in exprs for part in walk(expr))
    return frozenset(
        part.item.name if isinstance(part, ForEach) else part.variable.name
        for part in parts
        if isinstance(part, ForEach | Let)
    )


def fresh(wish: str, taken: Iterable[str]) -> str:
    """The name, with a number where it is taken.

    >>> fresh("x", {"x", "x_2"})
    'x_3'
    """
    known, name, number = set(taken), wish, 1
    while name in known:
        number += 1
        name = f"{wish}_{number}"
    return name


def substitute(expr: Expr, by: Mapping[str, Expr]) -> Expr:
    """The expression with others instead of free names; what is bound inside is renamed where it would catch one
    of theirs. The same object where nothing changes.
    """
    match expr:
        case Var(name=name):
            return by.get(name, expr)
        case ForEach(list=of, item=variable, body=body):
            variable, body = _under(variable, body, by)
            return replace(expr, list=substitute(of, by), item=variable, body=body)
        case Let(value=value, variable=variable, body=body):
            variable, body = _under(variable, body, by)
            return replace(expr, value=substitute(value, by), variable=variable, body=body, type=body.type)
        case _:  # what binds no name: its parts change
            parts = tuple(substitute(part, by) for part in children(expr))
            same = all(new is old for new, old in zip(parts, children(expr), strict=True))
            return expr if same else with_children(expr, parts)


def _under(variable: Var, body: Expr, by: Mapping[str, Expr]) -> tuple[Var, Expr]:
    """The binding and its body after a substitution."""
    inside = {name: expr for name, expr in by.items() if name != variable.name and name in free_names(body)}
    taken = frozenset[str]().union(*map(free_names, inside.values()))
    if variable.name in taken:
        renamed = replace(variable, name=fresh(variable.name, taken | free_names(body)))
        inside[variable.name] = renamed
        variable = renamed
    return variable, substitute(body, inside) if inside else body


def numbered(expr: Expr, depth: int = 0) -> Expr:
    """The expression with numbers for the names that it binds: two are the same then if they only name them otherwise.

    >>> from ghcm.types import Int
    >>> one, other = (Let(Var(name, Int()), Literal(1, Int()), Var(name, Int()), Int()) for name in "xy")
    >>> one == other, numbered(one) == numbered(other)
    (False, True)
    """
    match expr:
        case ForEach(list=of, item=variable, body=body):
            variable, body = _number(variable, body, depth)
            return replace(expr, list=numbered(of, depth), item=variable, body=numbered(body, depth + 1))
        case Let(value=value, variable=variable, body=body):
            variable, body = _number(variable, body, depth)
            return replace(expr, value=numbered(value, depth), variable=variable, body=numbered(body, depth + 1))
        case _:  # what binds no name: its parts
            return with_children(expr, tuple(numbered(part, depth) for part in children(expr)))


def numbered_function(function: Lambda) -> Lambda:
    """The function with numbers for its parameters and for the names that are bound in it."""
    parameters = tuple(replace(each, name=str(at)) for at, each in enumerate(function.parameters))
    by = {old.name: new for old, new in zip(function.parameters, parameters, strict=True)}
    return Lambda(parameters, numbered(substitute(function.body, by), len(parameters)))


def _number(variable: Var, body: Expr, depth: int) -> tuple[Var, Expr]:
    renamed = replace(variable, name=str(depth))  # no name that a program has, nor that of a binding around it
    return renamed, substitute(body, {variable.name: renamed})


def mentions(expr: Expr, name: str) -> Iterator[Var | Get]:
    """Where a free name is read: as a `Get` of it or as a whole. What is done for each item of a list counts twice."""
    match expr:
        case Var():
            yield from (expr,) if expr.name == name else ()
        case Get(of=Var(name=found)):
            yield from (expr,) if found == name else ()
        case ForEach(list=of, item=item, body=body):
            yield from mentions(of, name)
            inner = [] if item.name == name else list(mentions(body, name))
            yield from (*inner, *inner)
        case Let(value=value, variable=bound, body=body):
            yield from mentions(value, name)
            yield from () if bound.name == name else mentions(body, name)
        case _:  # what binds no name: its parts
            for part in children(expr):
                yield from mentions(part, name)


def complete(parts: Iterable[Expr | None]) -> tuple[Expr, ...] | None:
    """All parts, where none is missing because a mistake in it was reported; every part is made first."""
    made = tuple(parts)
    known = tuple(part for part in made if part is not None)
    return known if len(known) == len(made) else None
