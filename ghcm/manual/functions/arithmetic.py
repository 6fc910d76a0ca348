"""Examples of arithmetic."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

_PRICE = ("{ price: decimal(10, 2) }", "{ price: 10 }")

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "add": (
        Example("1 + 2", "3"),
        Example('"a" + "b"', '"ab"'),
        Example("[1, 2] + [3]", "[1, 2, 3]"),
        Example("from_micros(0) + 90s", '"1970-01-01T00:01:30.000000Z"'),
        Example("r.price + 0.005", '"10.005"', given=_PRICE),
        Example("9223372036854775807 + 1", fails=Failure.OVERFLOW),
    ),
    "sub": (
        Example("1 - 2", "-1"),
        Example("90s - 1m", "30"),
        Example("-9223372036854775807 - 2", fails=Failure.OVERFLOW),
    ),
    "mul": (
        Example("6 * 7", "42"),
        Example("2 * 90s", "180"),
        Example("r.price * 1.19", '"11.9000"', given=_PRICE),
        Example("9223372036854775807 * 2", fails=Failure.OVERFLOW),
    ),
    "div": (Example("7 / 2", "3.5"), Example("90s / 60s", "1.5"), Example("7 / 0", fails=Failure.ZERO_DIVISOR)),
    "floordiv": (Example("7 // 2", "3"), Example("-7 // 2", "-4"), Example("7 // 0", fails=Failure.ZERO_DIVISOR)),
    "mod": (Example("7 % 3", "1"), Example("-7 % 3", "2"), Example("7 % 0", fails=Failure.ZERO_DIVISOR)),
    "neg": (Example("-(1 + 2)", "-3"), Example("-(-9223372036854775807 - 1)", fails=Failure.OVERFLOW)),
    "round_half_up": (
        Example("round_half_up(r.price * 1.195, 2)", '"11.95"', given=_PRICE),
        Example("round_half_up(r.price * -0.05, 0)", '"-1"', given=_PRICE),
    ),
    "abs": (Example("abs(-3)", "3"), Example("abs(-9223372036854775807 - 1)", fails=Failure.OVERFLOW)),
}
