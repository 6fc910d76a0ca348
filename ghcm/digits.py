"""The digits of decimals: of what holds whole numbers, of sums, of what holds two decimals."""

from __future__ import annotations

from ghcm.types import Decimal, Int, Int32, Type

MOST_DIGITS = 38
"""So many digits a decimal has at most: 128 bits hold them, and every engine does."""

SUMMED_DIGITS = 28
"""Sums of decimals of so many digits at most fit 38, however they are added up."""


def sum_of_many(of: Decimal) -> Decimal:
    """The decimal of sums: with ten digits more, which ten thousand million numbers do not fill, 38 at most."""
    return Decimal(min(of.precision + 10, MOST_DIGITS), of.scale)


def decimal_of(whole: int, scale: int) -> Decimal | None:
    """The decimal type of so many digits ahead of the point and behind it; None where these are too many."""
    precision = max(whole + scale, 1)
    return Decimal(precision, scale) if precision <= MOST_DIGITS else None


def as_decimal(type_: Type) -> Decimal | None:
    """The decimal type that holds exactly the values of a decimal or whole number; None for others."""
    match type_:
        case Decimal():
            return type_
        case Int():
            return Decimal(19, 0)
        case Int32():
            return Decimal(10, 0)
        case _:
            return None


def unify_decimals(left: Decimal | None, right: Decimal | None) -> Decimal | None:
    """The decimal that holds all digits of either; None where that has too many, or where one is no decimal."""
    if left is None or right is None:
        return None
    scale = max(left.scale, right.scale)
    return decimal_of(max(left.precision - left.scale, right.precision - right.scale), scale)
