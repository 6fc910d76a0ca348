"""Reserved words and constants: what a number, a duration and a string look like in a program.

Parsing raises `ValueError` with a message for the user; printing gives the one canonical form.
"""

from collections.abc import Iterator
from decimal import Decimal
from math import isinf

from ghcm.types import INT_MAX

RESERVED = ("if", "then", "else", "match", "let", "in", "is", "not", "and", "or", "null", "true", "false")
"""What cannot be a name in either front end."""

CLAIMS = ("associative", "commutative")
"""What can be claimed of a reducer: `@associative @commutative (a, b) => ...`."""

_UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "'": "'"}
_PRINTED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\\": "\\\\", '"': '\\"'}
_HEX = {"x": 2, "u": 4, "U": 8}


def parse_int(text: str) -> int:
    """The whole number of an `INT`; one more than the greatest is let through, for it may stand behind a minus."""
    value = int(text.replace("_", ""))
    if value > INT_MAX + 1:
        raise ValueError("the number does not fit into 64 bits")
    return value


def parse_float(text: str) -> float:
    """The double of a `FLOAT`."""
    value = float(text.replace("_", ""))
    if isinf(value):
        raise ValueError("the number is too large for a float")
    return value


def parse_duration(text: str) -> int:
    """The microseconds of a `DURATION`, which may have a minus before it.

    >>> parse_duration("1.5s")
    1500000
    """
    unit = text.lstrip("-0123456789_.")
    exact = Decimal(text.removesuffix(unit).replace("_", "")) * _UNITS[unit]
    micros = int(exact)
    if micros != exact:
        raise ValueError("a duration is a whole number of microseconds")
    if micros > INT_MAX:
        raise ValueError("the duration does not fit into 64 bits of microseconds")
    return micros


def print_duration(micros: int) -> str:
    """A duration that is not negative, in the largest unit that needs no fraction.

    >>> print_duration(90_000_000), print_duration(0)
    ('90s', '0s')
    """
    unit = next((unit for unit, size in _UNITS.items() if micros and micros % size == 0), "s")
    return f"{micros // _UNITS[unit]}{unit}"


def print_float(value: float) -> str:
    """The shortest text that gives the same double, always recognisable as a float."""
    return repr(value)


def parse_string(text: str) -> str:
    r"""The characters of a `STRING` with its quotes; `r"..."` is taken as it stands.

    >>> parse_string(r'"a\tb"'), parse_string(r'r"\d+"')
    ('a\tb', '\\d+')
    """
    if text.startswith("r"):
        return text[2:-1]
    found: list[str] = []
    rest = iter(text[1:-1])
    for char in rest:
        found.append(_escaped(next(rest), rest) if char == "\\" else char)
    return "".join(found)


def _escaped(letter: str, rest: Iterator[str]) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter not in _HEX:
        raise ValueError(f'"\\{letter}" is no escape')
    digits = "".join(next(rest, "") for _ in range(_HEX[letter]))
    try:
        point = int(digits, 16) if len(digits) == _HEX[letter] else -1
    except ValueError:
        point = -1
    if not 0 <= point <= 0x10FFFF or 0xD800 <= point <= 0xDFFF:
        raise ValueError(f'"\\{letter}{digits}" is no character')
    return chr(point)


def print_string(value: str) -> str:
    r"""The string in double quotes; what cannot be seen is escaped.

    >>> print(print_string('say "a"\n'))
    "say \"a\"\n"
    """
    return '"' + "".join(_PRINTED.get(char) or _visible(char) for char in value) + '"'


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    point = ord(char)
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
