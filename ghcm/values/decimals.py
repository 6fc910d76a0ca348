"""Decimal numbers as values: a number of a scale is kept with so many digits behind the point, and zero has no sign.

A decimal field takes 12.34 of a JSON text as it is written, not by way of a double: `WrittenFloat` keeps the digits.

What Python computes by default is rounded to 28 digits; `EXACT` computes with all of them and fails where it would
round.
"""

from decimal import Context, Decimal, Inexact, InvalidOperation
from math import isinf
from typing import Self

from ghcm import types
from ghcm.types import Type

EXACT = Context(prec=100, traps=[Inexact, InvalidOperation])
"""Exact for sums and products of numbers of 38 digits. What does not fit raises ArithmeticError."""

UNITS = tuple(Decimal(1).scaleb(-scale) for scale in range(39))
"""One of the last digit of each scale."""


def at_scale(number: Decimal, scale: int) -> Decimal:
    """The number with exactly so many digits behind the point; ArithmeticError where others than zeros would be lost.

    >>> at_scale(Decimal("1.5"), 2), at_scale(Decimal("-0"), 1)
    (Decimal('1.50'), Decimal('0.0'))
    """
    return EXACT.plus(EXACT.quantize(number, UNITS[scale]))


def fitted(number: Decimal | str | int, type_: types.Decimal) -> Decimal:
    """The number as a value of the type; ValueError where it is none, as digits would be lost or it has no end."""
    try:
        exact = at_scale(Decimal(number), type_.scale)
    except ArithmeticError:
        exact = Decimal("NaN")
    if not exact.is_finite() or len(exact.as_tuple().digits) > type_.precision:
        raise ValueError(f"{str(number)[:60]} does not fit into {type_}")
    return exact


def decimal_text(number: Decimal) -> str:
    """Its digits, never with an exponent.

    >>> decimal_text(Decimal("0.0000001"))
    '0.0000001'
    """
    return f"{number:f}"


_MOST = 38
"""Digits, and of these digits behind the point: a number with more is a double for Spark, whose digits are gone."""


class WrittenFloat(float):
    """A number with a point or an exponent, as `parse_float` of the `json` module makes it.

    >>> WrittenFloat("12.340") + 1, WrittenFloat("12.340").digits(), WrittenFloat("1e2").digits()
    (13.34, '12.340', None)
    """

    __slots__ = ("_text",)

    _text: str

    def __new__(cls, text: str) -> Self:
        """From the text of a JSON number."""
        made = super().__new__(cls, text)
        made._text = text
        return made

    @property
    def overflows(self) -> bool:
        """Whether the digits say more than a double holds, such as 1e400; tables have infinities without digits."""
        return isinf(self) and self._text[-1].isdigit()

    def digits(self) -> str | None:
        """The number as it is written; None where that has an exponent or too many digits. Any zero is "0"."""
        if not self:
            return "0"
        whole, _, behind = self._text.lstrip("-").partition(".")
        if not (whole + behind).isdigit() or len(behind) > _MOST or len((whole + behind).lstrip("0")) > _MOST:
            return None
        return self._text


def has_decimal(type_: Type) -> bool:
    """Whether a part of the type is a decimal, so that numbers have to keep their digits."""
    return any(isinstance(part, types.Decimal) for part in types.parts(type_))
