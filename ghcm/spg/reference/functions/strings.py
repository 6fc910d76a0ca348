"""The meanings of the functions of strings."""

from __future__ import annotations

from typing import Any

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, fail
from ghcm.spg.reference.order import order_key
from ghcm.types import List

__all__ = ["MEANINGS"]

_ASCII_SPACE = " \t\n\r\v\f"


def _substring(_: Types, text: str, start: int, count: int) -> str:
    if start < 0 or count < 0:
        fail(Failure.OUT_OF_RANGE, f"no substring from {start} of {count}")
    return text[start : start + count]


def _split(_: Types, text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else fail(Failure.BAD_PATTERN, "the separator is empty")


def _contains(types: Types, whole: Any, part: Any) -> bool:
    bare = types.first
    if isinstance(bare, List):
        return any(order_key(each, bare.item) == order_key(part, bare.item) for each in whole)
    return part in whole


MEANINGS: dict[str, Meaning] = {
    "length": lambda _, a: len(a),
    "lower": lambda _, a: a.lower(),
    "upper": lambda _, a: a.upper(),
    "trim": lambda _, a: a.strip(_ASCII_SPACE),
    "starts_with": lambda _, a, b: a.startswith(b),
    "ends_with": lambda _, a, b: a.endswith(b),
    "contains": _contains,
    "replace": lambda _, a, old, new: a.replace(old, new) if old else a,
    "substring": _substring,
    "split": _split,
}
