"""Decimal numbers as values: a number of a scale is kept with so many digits behind the point, and zero has no sign.

What Python computes by default is rounded to 28 digits; `EXACT` computes with all of them and fails where it would
round.
"""

from __future__ import annotations

from decimal import Context, Decimal, Inexact, InvalidOperation

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


def decimal_text(number: Decimal) -> str:
    """Its digits, never with an exponent.

    >>> decimal_text(Decimal("0.0000001"))
    '0.0000001'
    """
    return f"{number:f}"
