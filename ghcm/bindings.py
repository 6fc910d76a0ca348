"""Names inside expressions: which are bound where, which are free, and how an expression takes the place of one.

`ForEach` and `Let` bind a name in their body. Nothing here looks at types or values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ghcm.expr import Expr, ForEach, Get, Let, Var, children, walk, with_children


def free_names(expr: Expr) -> frozenset[str]:
    """The names that the expression mentions and does not bind itself."""
    match expr:
        case Var(name=name):
            return frozenset((name,))
        case ForEach(list=of, item=variable, body=body) | Let(value=of, variable=variable, body=body):
            return free_names(of) | (free_names(body) - {variable.name})
        case _:
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
    """The expression with others in the places of free names; what is bound inside is renamed where it would catch one
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
            return replace(expr, value=substitute(value, by), variable=variable, body=body)
        case _:
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
        case _:
            for part in children(expr):
                yield from mentions(part, name)
