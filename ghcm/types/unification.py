"""When one type stands for another, the one type that holds the values of two, and the precision of decimals."""

from __future__ import annotations

from dataclasses import replace

from ghcm.types import (
    Decimal,
    Enumeration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Map,
    Null,
    Nullable,
    String,
    Struct,
    Type,
    as_nullable,
    strip,
)


def accepts(to: Type, found: Type) -> bool:
    """Whether a value of type `found` stands where `to` is asked for as it is: equal, or a `?` less, at any depth.

    >>> accepts(Nullable(Int()), Int()), accepts(Int(), Nullable(Int())), accepts(Float(), Int())
    (True, False, False)
    """
    if to == found or (isinstance(to, Nullable) and isinstance(found, Null)):
        return True
    match to, found:
        case Nullable(of=of), _:
            return accepts(of, strip(found))
        case List(item=mine), List(item=other):
            return accepts(mine, other)
        case Map(key=key, value=value), Map(key=other_key, value=other):
            return accepts(key, other_key) and accepts(value, other)
        case Struct(fields=mine), Struct(fields=other) if [part.name for part in mine] == [part.name for part in other]:
            return all(accepts(one.type, two.type) for one, two in zip(mine, other, strict=True))
        case _:  # any other two types differ
            return False


def unify(left: Type, right: Type) -> Type | None:
    """The smallest type that holds values of both, or None. `int32` widens to `int`, `int` to `float`, an enum to
    `string`, a decimal and a whole number to a decimal that holds all digits of either; null makes nullable.

    >>> str(unify(Int(), Nullable(Float()))), str(unify(Decimal(10, 2), Decimal(6, 4)))
    ('float?', 'decimal(12, 4)')
    """
    if isinstance(left, Struct) and isinstance(right, Struct) and left.variants != right.variants:
        return _unify_unions(left, right)
    if left == right:
        return left
    if isinstance(left, Null):
        return as_nullable(right)
    if isinstance(right, Null):
        return as_nullable(left)
    if isinstance(left, Nullable) or isinstance(right, Nullable):
        inner = unify(strip(left), strip(right))
        return None if inner is None else as_nullable(inner)
    order: list[Type] = [Int32(), Int(), Float()]
    if left in order and right in order:
        return order[max(order.index(left), order.index(right))]
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return unify_decimals(as_decimal(left), as_decimal(right))
    if {type(left), type(right)} == {String, Enumeration}:
        return String()
    if isinstance(left, List) and isinstance(right, List):
        item = unify(left.item, right.item)
        return None if item is None else List(item)
    if isinstance(left, Struct) and isinstance(right, Struct) and left.names == right.names:
        parts = [unify(mine.type, other.type) for mine, other in zip(left.fields, right.fields, strict=True)]
        if all(part is not None for part in parts):
            fields = tuple(Field(name, part) for name, part in zip(left.names, parts, strict=True) if part is not None)
            return Struct(fields, left.name if left.name == right.name else None, left.variants)
    return None


def _unify_unions(left: Struct, right: Struct) -> Type | None:
    """A union that has been narrowed to some of its records, and one that has been narrowed to others."""
    if not left.variants or not right.variants or left.name != right.name:
        return None
    both = (*left.variants, *(each for each in right.variants if each not in left.variants))
    return unify(replace(left, variants=both), replace(right, variants=both))


MAX_PRECISION = 38
"""So many digits a decimal has at most: 128 bits hold them, and every engine does."""

MAX_SUMMED_PRECISION = 28
"""Sums of decimals of so many digits at most fit 38, however they are added up."""


def sum_of_many(of: Decimal) -> Decimal:
    """The decimal of sums: with ten digits more, which ten thousand million numbers do not fill, 38 at most."""
    return Decimal(min(of.precision + 10, MAX_PRECISION), of.scale)


def decimal_of(whole: int, scale: int) -> Decimal | None:
    """The decimal type of so many digits ahead of the point and behind it; None where these are too many."""
    precision = max(whole + scale, 1)
    return Decimal(precision, scale) if precision <= MAX_PRECISION else None


def as_decimal(type_: Type) -> Decimal | None:
    """The decimal type that holds exactly the values of a decimal or whole number; None for others."""
    match type_:
        case Decimal():
            return type_
        case Int():
            return Decimal(19, 0)
        case Int32():
            return Decimal(10, 0)
        case _:  # no other type holds whole numbers or decimals alone
            return None


def unify_decimals(left: Decimal | None, right: Decimal | None) -> Decimal | None:
    """The decimal that holds all digits of either; None where that has too many, or where one is no decimal."""
    if left is None or right is None:
        return None
    scale = max(left.scale, right.scale)
    return decimal_of(max(left.precision - left.scale, right.precision - right.scale), scale)
