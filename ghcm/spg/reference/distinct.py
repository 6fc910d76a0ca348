"""How many different values there are, about: HyperLogLog as Flajolet and others gave it in 2007, with linear counting
where there are few.

4,096 registers by the first 12 bits of a hash; each keeps the greatest place of the first one among the 52 bits behind
them. The hash is the first 64 bits of MD5 over the value as text: strings as UTF-8, bytes as hexadecimal digits, whole
numbers and moments (microseconds, days) in decimal, `true` and `false`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import cast

from ghcm.types import Bytes, Enumeration, String, Type, strip

_REGISTERS = 4096
_ALPHA = 0.7213 / (1 + 1.079 / _REGISTERS)


def estimate(values: Sequence[object], type_: Type) -> int:
    """About how many different values there are."""
    registers = [0] * _REGISTERS
    for value in values:
        bits = f"{int(hashlib.md5(_text(value, type_).encode(), usedforsecurity=False).hexdigest()[:16], 16):064b}"
        register, rest = int(bits[:12], 2), bits[12:]
        place = rest.index("1") + 1 if "1" in rest else len(rest) + 1
        registers[register] = max(registers[register], place)
    empty = registers.count(0)
    raw = _ALPHA * _REGISTERS**2 / sum(2.0**-each for each in registers)
    if raw <= 2.5 * _REGISTERS and empty:
        return round(_REGISTERS * math.log(_REGISTERS / empty))
    return round(raw)


def _text(value: object, type_: Type) -> str:
    match strip(type_):
        case String() | Enumeration():
            return cast("str", value)
        case Bytes():
            return cast("bytes", value).hex()
        case _:
            return str(value).lower()
