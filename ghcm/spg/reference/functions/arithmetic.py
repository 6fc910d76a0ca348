"""The meanings of the functions of arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, checked, fail

__all__ = ["MEANINGS"]

_Two: TypeAlias = Callable[[Types, Any, Any], Any]


def _arithmetic(compute: Callable[[Any, Any], Any]) -> _Two:
    """Whole numbers are checked; floats go on to infinity; strings are joined."""

    def meaning(_: Types, left: Any, right: Any) -> Any:
        result = compute(left, right)
        return checked(result) if isinstance(result, int) else result

    return meaning


def _divisor(compute: Callable[[Any, Any], Any]) -> _Two:
    def meaning(types: Types, left: Any, right: Any) -> Any:
        if right == 0:
            fail(Failure.ZERO_DIVISOR, f"{left} is divided by {right}")
        return _arithmetic(compute)(types, left, right)

    return meaning


MEANINGS: dict[str, Meaning] = {
    "add": _arithmetic(lambda a, b: a + b),
    "sub": _arithmetic(lambda a, b: a - b),
    "mul": _arithmetic(lambda a, b: a * b),
    "div": _divisor(lambda a, b: float(a) / float(b)),
    "floordiv": _divisor(lambda a, b: a // b),
    "mod": _divisor(lambda a, b: a % b),
    "neg": lambda _, a: checked(-a) if isinstance(a, int) else -a,
    "abs": lambda _, a: checked(abs(a)) if isinstance(a, int) else abs(a),
}
