"""Regular expressions for Python and for Polars (Rust).

The lowering has spelt out classes and `.`, and groups capture nothing; what is left to say differently is the end of
the text.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_parser: Any = import_module("re._parser")


def python_pattern(pattern: str) -> str:
    r"""The pattern for `re`.

    >>> python_pattern(r"a\$[$]$")
    'a\\$[$]\\Z'
    """
    return _with_end(pattern, r"\Z")


def polars_pattern(pattern: str) -> str:
    r"""The pattern for Polars, whose engine is Rust's."""
    return _with_end(pattern, r"\z")


def may_be_empty(pattern: str) -> bool:
    """Whether it can match the empty text: then engines differ in which matches they list.

    >>> may_be_empty("a*"), may_be_empty("[a-z]+")
    (True, False)
    """
    least, _ = _parser.parse(python_pattern(pattern)).getwidth()
    return bool(least == 0)


def _with_end(pattern: str, end: str) -> str:
    result: list[str] = []
    offset, in_class = 0, False
    while offset < len(pattern):
        char = pattern[offset]
        if char == "\\":
            result.append(pattern[offset : offset + 2])
            offset += 2
            continue
        in_class = (in_class or char == "[") and not (in_class and char == "]")
        result.append(end if char == "$" and not in_class else char)
        offset += 1
    return "".join(result)
