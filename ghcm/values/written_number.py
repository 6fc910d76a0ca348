"""Numbers of JSON with their digits: a decimal field takes 12.34 as it is written, not by way of a double."""

from __future__ import annotations

from typing import Self

from ghcm.types import Decimal, List, Map, Nullable, Struct, Type

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
    match type_:
        case Decimal():
            return True
        case Nullable(of=of):
            return has_decimal(of)
        case List(item=item):
            return has_decimal(item)
        case Map(key=key, value=value):
            return has_decimal(key) or has_decimal(value)
        case Struct(fields=fields):
            return any(has_decimal(each.type) for each in fields)
        case _:
            return False
