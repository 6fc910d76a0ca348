"""Constants that a function could not read for any record: refused before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ghcm.codes import Code
from ghcm.expr import Expr, Literal
from ghcm.functions import FAMILIES, FUNCTIONS
from ghcm.values.texts import Address, address_text, parse_address, parse_path, parse_subnet


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Which argument, from 0, and what is wrong with it."""

    place: int
    message: str
    hint: str = ""
    code: Code = Code.BAD_CONSTANT


def unreadable(function: str, arguments: tuple[Expr, ...]) -> Unreadable | None:
    """The first constant among the arguments that the function cannot read, or what should be one and is none."""
    readers = _READERS.get(function, {})
    for place in FUNCTIONS[function].constants:
        if place < len(arguments) and not isinstance(arguments[place], Literal):
            hint = "It is read before anything runs."
            return Unreadable(place, f'this argument of "{function}" is not a constant', hint, Code.NOT_CONSTANT)
    for place, argument in enumerate(arguments):
        if place in readers and isinstance(argument, Literal) and argument.value is not None:
            found = readers[place](argument.value)
            if found is not None:
                return Unreadable(place, *found)
    return None


_Reader = Callable[[object], "tuple[str, str] | None"]
"""What is wrong with a value, and a hint."""


def _address(value: object) -> tuple[str, str] | None:
    if not isinstance(value, str) or parse_address(value) is not None:
        return None
    return f'"{value}" is no IP address', "An address is written 10.0.0.1 or 2001:db8::1."


def _subnet(value: object) -> tuple[str, str] | None:
    if not isinstance(value, str) or parse_subnet(value) is not None:
        return None
    start, _, prefix = value.partition("/")
    base = parse_address(start)
    if base is None:
        return f'"{value}" is no subnet', "A subnet is written 10.0.0.0/8 or 2001:db8::/32."
    if not prefix:
        return f'"{value}" is an address and no subnet', f"The subnet of this address alone is {start}/{base.bits}."
    if not (prefix.isascii() and prefix.isdecimal() and int(prefix) <= base.bits):
        return f'"{value}" is no subnet', f"Behind the slash stands a number from 0 to {base.bits}."
    return f'"{value}" has bits set behind its prefix', f"The subnet is {_start(base, int(prefix))}/{int(prefix)}."


def _start(address: Address, prefix: int) -> str:
    return address_text(address.start(prefix))


def _prefix(value: object) -> tuple[str, str] | None:
    if not isinstance(value, int) or 0 <= value <= 128:
        return None
    return f"no address has {value} leading bits", "IPv4 has 32 bits, IPv6 has 128."


def _path(value: object) -> tuple[str, str] | None:
    if not isinstance(value, str) or parse_path(value) is not None:
        return None
    return f'"{value}" is no path', 'A path is written $.name[0]["any name"]; "$" is the whole text.'


_READERS: dict[str, dict[int, _Reader]] = {
    **{name: {0: _address} for name in ("ip_canonical", "ip_to_int", "is_private", "is_multicast")},
    "in_subnet": {0: _address, 1: _subnet},
    "subnet_of": {0: _address, 1: _prefix},
    **{each.name: {1: _path} for each in FAMILIES["json"]},
}
