"""Python's own words for what the language has: methods of `str`, `bytes`, `datetime` and `timedelta`, and `len`.

Only what means the same is here: `strip()` without characters cuts Unicode's white space, `split()` too, and they stay
refused.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import FunctionType
from typing import Any

METHODS: dict[str, tuple[str, int, tuple[object, ...]]] = {
    "startswith": ("starts_with", 1, ()),
    "endswith": ("ends_with", 1, ()),
    "removeprefix": ("remove_prefix", 1, ()),
    "removesuffix": ("remove_suffix", 1, ()),
    "find": ("index_of", 1, ()),
    "rfind": ("last_index_of", 1, ()),
    "count": ("count_of", 1, ()),
    "strip": ("trim", 1, ()),
    "lstrip": ("trim_start", 1, ()),
    "rstrip": ("trim_end", 1, ()),
    "rjust": ("pad_start", 1, (" ",)),
    "ljust": ("pad_end", 1, (" ",)),
    "encode": ("to_bytes", 0, ()),
    "decode": ("from_bytes", 0, ()),
    "hex": ("to_hex", 0, ()),
    "strftime": ("format_time", 1, ()),
    "isoweekday": ("day_of_week", 0, ()),
    "date": ("to_date", 0, ()),
    "timestamp": ("to_seconds", 0, ()),
    "total_seconds": ("to_seconds", 0, ()),
}
"""From a method of Python to the function, how many arguments it takes here, and what is added to them."""


def with_words(function: Callable[..., object], length: Callable[[Any], object]) -> Callable[..., object]:
    """The same function, in which `len` can see values of the program; what it calls keeps its own."""
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or code is None or "len" not in code.co_names:
        return function
    if "len" in function.__globals__ and function.__globals__["len"] is not builtins.len:
        return function
    names = {**function.__globals__, "len": length}
    made = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made
