"""When one type stands for another, the one type that holds the values of two, and the precision of decimals."""

from dataclasses import replace

from ghcm import types
from ghcm.types import Type, as_nullable, strip


def accepts(to: Type, found: Type) -> bool:
    """Whether a value of type `found` stands where `to` is asked for as it is: equal, or a `?` less, at any depth.

    >>> whole = types.Int()
    >>> accepts(types.Nullable(whole), whole), accepts(whole, types.Nullable(whole)), accepts(types.Float(), whole)
    (True, False, False)
    """
    if to == found or (isinstance(to, types.Nullable) and isinstance(found, types.Null)):
        return True
    match to, found:
        case types.Nullable(of=of), _:
            return accepts(of, strip(found))
        case types.List(item=mine), types.List(item=other):
            return accepts(mine, other)
        case types.Map(key=key, value=value), types.Map(key=other_key, value=other):
            return accepts(key, other_key) and accepts(value, other)
        case types.Struct() as mine, types.Struct() as other if mine.names == other.names:
            return all(accepts(one.type, two.type) for one, two in zip(mine.fields, other.fields, strict=True))
        case _:  # any other two types differ
            return False


def unify(left: Type, right: Type) -> Type | None:
    """The smallest type that holds values of both, or None. `int32` widens to `int`, `int` to `float`, an enum to
    `string`, a decimal and a whole number to a decimal that holds all digits of either; null makes nullable.

    >>> str(unify(types.Int(), types.Nullable(types.Float()))), str(unify(types.Decimal(10, 2), types.Decimal(6, 4)))
    ('float?', 'decimal(12, 4)')
    """
    if isinstance(left, types.Struct) and isinstance(right, types.Struct) and left.variants != right.variants:
        return _unify_unions(left, right)
    if left == right:
        return left
    if isinstance(left, types.Null):
        return as_nullable(right)
    if isinstance(right, types.Null):
        return as_nullable(left)
    if isinstance(left, types.Nullable) or isinstance(right, types.Nullable):
        inner = unify(strip(left), strip(right))
        return None if inner is None else as_nullable(inner)
    order: list[Type] = [types.Int32(), types.Int(), types.Float()]
    if left in order and right in order:
        return order[max(order.index(left), order.index(right))]
    if isinstance(left, types.Decimal) or isinstance(right, types.Decimal):
        return unify_decimals(as_decimal(left), as_decimal(right))
    if {type(left), type(right)} == {types.String, types.Enumeration}:
        return types.String()
    if isinstance(left, types.List) and isinstance(right, types.List):
        item = unify(left.item, right.item)
        return None if item is None else types.List(item)
    if isinstance(left, types.Struct) and isinstance(right, types.Struct) and left.names == right.names:
        parts = [unify(mine.type, other.type) for mine, other in zip(left.fields, right.fields, strict=True)]
        if all(part is not None for part in parts):
            pairs = zip(left.names, parts, strict=True)
            fields = tuple(types.Field(name, part) for name, part in pairs if part is not None)
            return types.Struct(fields, left.name if left.name == right.name else None, left.variants)
    return None


def _unify_unions(left: types.Struct, right: types.Struct) -> Type | None:
    """A union that has been narrowed to some of its records, and one that has been narrowed to others."""
    if not left.variants or not right.variants or left.name != right.name:
        return None
    both = (*left.variants, *(each for each in right.variants if each not in left.variants))
    return unify(replace(left, variants=both), replace(right, variants=both))


MAX_PRECISION = 38
"""So many digits a decimal has at most: 128 bits hold them, and every engine does."""

MAX_SUMMED_PRECISION = 28
"""Sums of decimals of so many digits at most fit 38, however they are added up."""


def sum_of_many(of: types.Decimal) -> types.Decimal:
    """The decimal of sums: with ten digits more, which ten thousand million numbers do not fill, 38 at most."""
    return types.Decimal(min(of.precision + 10, MAX_PRECISION), of.scale)


def decimal_of(whole: int, scale: int) -> types.Decimal | None:
    """The decimal type of so many digits ahead of the point and behind it; None where these are too many."""
    precision = max(whole + scale, 1)
    return types.Decimal(precision, scale) if precision <= MAX_PRECISION else None


def as_decimal(type_: Type) -> types.Decimal | None:
    """The decimal type that holds exactly the values of a decimal or whole number; None for others."""
    match type_:
        case types.Decimal():
            return type_
        case types.Int():
            return types.Decimal(19, 0)
        case types.Int32():
            return types.Decimal(10, 0)
        case _:  # no other type holds whole numbers or decimals alone
            return None


def unify_decimals(left: types.Decimal | None, right: types.Decimal | None) -> types.Decimal | None:
    """The decimal that holds all digits of either; None where that has too many, or where one is no decimal."""
    if left is None or right is None:
        return None
    scale = max(left.scale, right.scale)
    return decimal_of(max(left.precision - left.scale, right.precision - right.scale), scale)
