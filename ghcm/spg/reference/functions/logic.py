"""The meanings of the functions of comparison, three-valued logic and nulls."""

from collections.abc import Callable
from typing import Any

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, fail
from ghcm.spg.reference.order import order_key


def _comparison(holds: Callable[[Any, Any], bool]) -> Meaning:
    return lambda types, left, right: holds(order_key(left, types.first), order_key(right, types.first))


def _ensure(types: Types, condition: bool, message: str) -> bool:
    return condition or fail(Failure.BAD_RECORD, message)


def _same(types: Types, left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return order_key(left, types.first) == order_key(right, types.first)


MEANINGS: dict[str, Meaning] = {
    "eq": _comparison(lambda a, b: a == b),
    "ne": _comparison(lambda a, b: a != b),
    "lt": _comparison(lambda a, b: a < b),
    "le": _comparison(lambda a, b: a <= b),
    "gt": _comparison(lambda a, b: a > b),
    "ge": _comparison(lambda a, b: a >= b),
    "least": lambda types, a, b: a if order_key(a, types.first) <= order_key(b, types.first) else b,
    "greatest": lambda types, a, b: a if order_key(a, types.first) >= order_key(b, types.first) else b,
    "ensure": _ensure,
    "same": _same,
    "not": lambda _, a: not a,
    "is_null": lambda _, a: a is None,
    "is_not_null": lambda _, a: a is not None,
    "known": lambda _, a: a,
}
