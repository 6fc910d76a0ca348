"""Examples of conversion."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "widen": (Example("r.n + 1", "8", given=("{ n: int32 }", "{ n: 7 }")),),
    "to_int": (
        Example('to_int("-42")', "-42"),
        Example("to_int(2.9)", "2"),
        Example('to_int("4 2")', fails=Failure.BAD_CAST),
        Example("to_int(1e300)", fails=Failure.OVERFLOW),
    ),
    "to_float": (Example('to_float("1.5e3")', "1500.0"), Example('to_float("1,5")', fails=Failure.BAD_CAST)),
    "to_decimal": (
        Example("to_decimal(r.text, 10, 2)", '"12.30"', given=("{ text: string }", '{ text: "12.3" }')),
        Example("r.n.to_decimal(4, 2)", '"7.00"', given=("{ n: int }", "{ n: 7 }")),
        Example(
            "r.price.to_decimal(4, 1)", given=("{ price: decimal(6, 3) }", "{ price: 1.25 }"), fails=Failure.BAD_CAST
        ),
        Example(
            "r.price.to_decimal(2, 1)", given=("{ price: decimal(6, 3) }", "{ price: 12.5 }"), fails=Failure.OVERFLOW
        ),
    ),
    "to_enum": (
        Example('to_enum("udp", ["tcp", "udp"])', '"udp"'),
        Example('to_enum("gre", ["tcp", "udp"])', fails=Failure.BAD_CAST),
    ),
    "to_string": (Example("to_string(1.0)", '"1.0"'), Example("to_string(1500ms)", '"1.500000"')),
}
