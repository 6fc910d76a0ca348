"""Equality of maps, and of values with maps inside: that of the lists of their entries, in the order of the keys.

Maps have no order and are no keys; only `==`, `!=` and `same` compare them.
"""

from ghcm.expr import Call, Each, Expr, ForEach, Get, If, Let, Literal, MakeStruct, Var
from ghcm.functions import FUNCTIONS, comparable, resolve
from ghcm.lowering.expressions.conversion import convert
from ghcm.types import Bool, Field, List, Map, Null, Struct, as_nullable, is_nullable, nullable_like, parts, strip
from ghcm.unification import unify

_EQUALITIES = ("eq", "ne", "same")


def of_maps(function: str, arguments: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The arguments of an equality with lists of entries in the place of maps; others as they are."""
    if function not in _EQUALITIES or len(arguments) != 2:
        return arguments
    if any(isinstance(strip(each.type), Null) for each in arguments):
        return arguments
    both = unify(*(each.type for each in arguments))
    if both is None or not any(isinstance(part, Map) for part in parts(both)):
        return arguments
    found: list[Expr] = []
    for each in arguments:
        alike = convert(each, nullable_like(strip(both), each.type))
        if alike is None:
            return arguments
        found.append(_with_entries(alike))
    return tuple(found)


def _with_entries(value: Expr, depth: int = 0) -> Expr:
    """The value with the list of its entries in the place of each map inside, which tells the same maps apart."""
    type_, kept = strip(value.type), Var(f"of_maps_{depth}", value.type)
    if comparable(type_):
        return value
    match type_:
        case Map():
            resolution = resolve(FUNCTIONS["entries"], (value.type,))
            assert resolution is not None, "every map has entries"
            return _with_entries(Call("entries", (value,), resolution.result), depth)
        case List(item=item):
            one = Var(kept.name, item)
            body = _with_entries(one, depth + 1)
            return ForEach(Each.MAP, value, one, body, nullable_like(List(body.type), value.type))
        case Struct(fields=fields):
            there: Expr = Call("known", (kept,), type_) if is_nullable(value.type) else kept
            made = [_with_entries(Get(there, each.name, each.type), depth + 1) for each in fields]
            pairs = zip(fields, made, strict=True)
            record = Struct(tuple(Field(field.name, each.type) for field, each in pairs))
            body = MakeStruct(tuple(made), record)
            if not is_nullable(value.type):
                return Let(kept, value, body, record)
            test, result = Call("is_null", (kept,), Bool()), as_nullable(record)
            return Let(kept, value, If(test, Literal(None, result), body, result), result)
        case _:  # whatever else is compared has no parts
            return value
