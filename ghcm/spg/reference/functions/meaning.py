"""What a meaning is: a function of canonical values, told their types; `Failed` where the record fails."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal as Number
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

from ghcm.functions import Failure
from ghcm.types import INT_MAX, INT_MIN, Decimal, Type, strip


class Failed(Exception):
    """The record at hand fails."""

    def __init__(self, reason: Failure, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Types:
    """The types of a call: of its arguments and of its result, as they stand there."""

    arguments: tuple[Type, ...]
    result: Type

    @property
    def first(self) -> Type:
        """The type of the first argument without its `?`."""
        return strip(self.arguments[0])


Meaning: TypeAlias = (
    Callable[[Types, Any], Any]
    | Callable[[Types, Any, Any], Any]
    | Callable[[Types, Any, Any, Any], Any]
    | Callable[[Types, Any, Any, Any, Any], Any]
    | Callable[..., Any]
)
"""`(types, *arguments) -> value`; no argument is null unless the function handles nulls itself."""


def fail(reason: Failure, detail: str) -> NoReturn:
    """The record fails."""
    raise Failed(reason, detail)


def checked(number: int) -> int:
    """The number, which must have 64 bits."""
    return number if INT_MIN <= number <= INT_MAX else fail(Failure.OVERFLOW, f"{number} has more than 64 bits")


def units_of(number: Any, scale: int) -> int:
    """How many times a decimal or whole number holds the smallest unit of a scale that has room for its digits."""
    units = Fraction(number) * 10**scale
    assert units.denominator == 1, (number, scale)
    return int(units.numerator)


def number_of(units: int, scale: int) -> Number:
    """The decimal of so many smallest units of a scale."""
    return Number((int(units < 0), tuple(map(int, str(abs(units)))), -scale))


def rounded_half_up(exact: Fraction, scale: int) -> Number:
    """The decimal with so many digits behind the point that is nearest, of two the one away from zero."""
    size = math.floor(abs(exact) * 10**scale + Fraction(1, 2))
    return number_of(-size if exact < 0 else size, scale)


def sum_at_scale(numbers: Sequence[Any], to: Decimal) -> Number:
    """The sum of decimals, which must have no more digits than its type."""
    units = sum(units_of(each, to.scale) for each in numbers)
    if abs(units) >= 10**to.precision:
        fail(Failure.OVERFLOW, f"the sum has more than {to.precision} digits")
    return number_of(units, to.scale)
