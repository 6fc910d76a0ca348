"""Expressions in a form that is the same for all that are equal by a few laws: what proves that a reducer may take the
values of a group in any order.

`least`, `greatest`, `and` and `or` are flattened, sorted, and say nothing twice; a choice by a comparison of its two
outcomes is the least or the greatest of them; one by a key that tells all values apart is the first or the last by that
key. Sums and products are left as they are: whether they overflow, and how they are rounded, depends on the order.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghcm.expr import Call, Expr, Get, If, Lambda, MakeStruct, Var, rebuild, substitute
from ghcm.failing import can_fail
from ghcm.types import Struct, is_nullable

_FLAT = frozenset({"least", "greatest", "and", "or"})
_TURNED = {"gt": "lt", "ge": "le"}
_FIRST, _LAST = "first by ", "last by "
"""What stands before a key in the names of functions that no program can write."""


def normal(expr: Expr) -> Expr:
    """The expression in its normal form; parts that no law is about stay as they are."""
    return rebuild(expr, _normal)


def forms(function: Lambda) -> tuple[Expr, Expr, Expr, Expr] | None:
    """The normal forms of f(a, b) and f(b, a), and of f(f(a, b), c) and f(a, f(b, c)); None for a function that is not
    over one type, or in which a record may fail.
    """
    left, right = function.parameters
    type_ = left.type
    if right.type != type_ or function.body.type != type_ or can_fail(function.body):
        return None
    a, b, c = (Var(name, type_) for name in "abc")

    def of(one: Expr, two: Expr) -> Expr:
        return substitute(function.body, {left.name: one, right.name: two})

    made = (of(a, b), of(b, a), of(of(a, b), c), of(a, of(b, c)))
    return normal(made[0]), normal(made[1]), normal(made[2]), normal(made[3])


def any_order(function: Lambda) -> bool:
    """Whether the forms show that a function of two values is commutative and associative."""
    found = forms(function)
    return found is not None and found[0] == found[1] and found[2] == found[3]


def _normal(expr: Expr) -> Expr:
    match expr:
        case Get(of=MakeStruct(values=values, type=Struct() as type_), field=name):
            return values[type_.index(name)]
        case Call(function="gt" | "ge" as function, arguments=(one, two)):
            return Call(_TURNED[function], (two, one), expr.type)
        case Call(function=function) if function in _FLAT or function.startswith((_FIRST, _LAST)):
            return _flat(expr)
        case If(condition=Call(function="not", arguments=(condition,)), then=then, otherwise=otherwise) if (
            not is_nullable(condition.type)
        ):
            return _normal(If(condition, otherwise, then, expr.type))
        case If(condition=Call(function="lt" | "le", arguments=(one, two)), then=then, otherwise=otherwise):
            return _choice(expr, one, two, then, otherwise)
        case MakeStruct(values=values, type=Struct() as type_) if values:
            return _whole(expr, type_)
        case _:  # no law is about it
            return expr


def _flat(call: Call) -> Expr:
    parts = sorted(dict.fromkeys(_parts(call, call.function)), key=repr)
    return parts[0] if len(parts) == 1 else Call(call.function, tuple(parts), call.type)


def _parts(expr: Expr, function: str) -> Iterator[Expr]:
    if isinstance(expr, Call) and expr.function == function:
        for each in expr.arguments:
            yield from _parts(each, function)
    else:
        yield expr


def _choice(expr: If, one: Expr, two: Expr, then: Expr, otherwise: Expr) -> Expr:
    """The lesser or the greater of two, by themselves or by a key."""
    if is_nullable(one.type) or is_nullable(two.type) or one.type != two.type:
        return expr
    if {repr(then), repr(otherwise)} == {repr(one), repr(two)}:
        return _flat(Call("least" if then == one else "greatest", (one, two), expr.type))
    for first, second in ((then, otherwise), (otherwise, then)):
        key = _key(one, first)
        if key and key == _key(two, second):
            word = _FIRST if first is then else _LAST
            return _flat(Call(f"{word}{', '.join(key)}", (first, second), expr.type))
    return expr


def _key(key: Expr, value: Expr) -> tuple[str, ...]:
    """The fields by which a key orders a value, if they are all of its fields, so that only equal values have equal
    keys; else none.
    """
    if not isinstance(key, MakeStruct) or not isinstance(value.type, Struct):
        return ()
    names = tuple(each.field for each in key.values if isinstance(each, Get) and each.of == value)
    return names if len(names) == len(key.values) and set(names) == set(value.type.names) else ()


def _whole(made: MakeStruct, type_: Struct) -> Expr:
    """A record made of all fields of another as they are is that one."""
    first = made.values[0]
    if not isinstance(first, Get) or first.of.type != type_:
        return made
    fields = zip(made.values, type_.fields, strict=True)
    same = all(isinstance(each, Get) and each.of == first.of and each.field == field.name for each, field in fields)
    return first.of if same else made
