"""Sort keys: for each type a function from canonical values to something that Python orders as the language does.

Nulls are equal and least, NaN equals itself and is greatest, -0.0 equals 0.0; structs and lists go item by item.
Equal keys mean equal values, and keys can be hashed. Generated code builds these with the functions here; operators
use `order_of`.
"""

from collections.abc import Callable
from math import isnan
from typing import TypeAlias, assert_never

from ghcm import types

Order: TypeAlias = Callable[[object], object]


def plain(value: object) -> object:
    """The key of what Python orders rightly by itself."""
    return value


def floating(value: object) -> object:
    """The key of a float."""
    assert isinstance(value, float)
    return (1, 0.0) if isnan(value) else (0, value)


def pairs(key: Order, value: Order) -> Order:
    """The key of a map: it has no order in the language, but one is needed to tell maps apart."""
    return lambda held: tuple(sorted((key(name), value(each)) for name, each in held.items()))  # type: ignore[attr-defined]


def null_last(of: Order) -> Order:
    """The key of a value that may be null, null being greatest."""
    return lambda value: (1,) if value is None else (0, of(value))


def nullable(of: Order) -> Order:
    """The key of a value that may be null."""
    return lambda value: () if value is None else (of(value),)


def items(each: Order) -> Order:
    """The key of a list."""
    return lambda value: tuple(map(each, value))  # type: ignore[call-overload]


def struct(*parts: Order) -> Order:
    """The key of a struct (or of a whole row): its fields' keys in order."""
    return lambda value: tuple([part(each) for part, each in zip(parts, value, strict=False)])  # type: ignore[call-overload]


def order_of(type_: types.Type) -> Order:
    """The sort key of a type; structs compare by their fields only, so a longer row is cut to them."""
    match type_:
        case types.Nullable(of=of):
            return nullable(order_of(of))
        case types.Float():
            return floating
        case types.List(item=item):
            return items(order_of(item))
        case types.Struct(fields=fields):
            return struct(*(order_of(field.type) for field in fields))
        case types.Map(key=key, value=value):
            return pairs(order_of(key), order_of(value))
        case types.Scalar() | types.Decimal() | types.Enumeration():  # as Python orders
            return plain
        case _:
            assert_never(type_)
