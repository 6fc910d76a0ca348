"""The JSON forms of values in generated row code: functions that are put together for a type once.

They give what `ghcm.values` gives, but for maps, whose keys are put in order.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from ghcm.types import Duration
from ghcm.values import writer
from ghcm.values.decimals import decimal_text
from ghcm.values.timestamps import date_text, timestamp_text

Form: TypeAlias = Callable[[Any], Any]
"""From a value to JSON data."""


def plain(value: Any) -> Any:
    """What JSON has itself."""
    return value


def floating(value: float) -> float | str:
    """A float; JSON has no others than finite numbers."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def digits(value: Decimal) -> str:
    """A decimal number."""
    return decimal_text(value)


def base64_text(value: bytes) -> str:
    """Bytes."""
    return base64.b64encode(value).decode("ascii")


def moment(value: int) -> str:
    """A timestamp."""
    return timestamp_text(value)


def day(value: int) -> str:
    """A date."""
    return date_text(value)


seconds: Form = writer(Duration())
"""A duration."""


def nullable(form: Form) -> Form:
    """A value that may be null."""
    return lambda value: None if value is None else form(value)


def items(form: Form) -> Form:
    """A list."""

    def each(values: Sequence[Any]) -> Any:
        return list(map(form, values))

    return each


def struct(*parts: tuple[str, Form]) -> Form:
    """A record."""

    def object_of(values: Sequence[Any]) -> Any:
        return {name: form(value) for (name, form), value in zip(parts, values, strict=True)}

    return object_of


def members(form: Form) -> Form:
    """A map of strings, in the order of its keys."""

    def object_of(values: Mapping[str, Any]) -> Any:
        return {key: form(values[key]) for key in sorted(values)}

    return object_of


def pairs(key: Form, form: Form) -> Form:
    """Another map, in the order of its keys."""

    def each(values: Mapping[Any, Any]) -> Any:
        return [[key(name), form(values[name])] for name in sorted(values)]

    return each
