"""Texts with a form of their own: IP addresses and subnets, read strictly, and paths into JSON texts; and texts as
messages quote them.

The canonical text of an address is that of RFC 5952; paths are `$.name`, `$["any name"]`, `$[0]`, and these behind each
other. The compiler refuses constants that are none by it, and the reference reads by it. The engines have readers of
their own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TypeAlias

_PREFIX = re.compile("0|[1-9][0-9]{0,2}")


def writable(text: str) -> str:
    r"""The text with half surrogate pairs spelt out: no file and no Arrow array takes them.

    >>> writable("a\ud800")
    'a\\ud800'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def shown(text: str) -> str:
    """The beginning of a text as messages quote it."""
    text = writable(text)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True, slots=True)
class Address:
    """An address as a number; `bits` is 32 of IPv4 and 128 of IPv6."""

    bits: int
    number: int

    def start(self, prefix: int) -> Address:
        """The first address of the subnet of so many leading bits around this one."""
        host = self.bits - prefix
        return Address(self.bits, self.number >> host << host)


@dataclass(frozen=True, slots=True)
class Subnet:
    """All addresses that share the leading `prefix` bits of `base`, whose other bits are zero."""

    base: Address
    prefix: int

    def __contains__(self, address: Address) -> bool:
        return address.bits == self.base.bits and address.start(self.prefix) == self.base


def parse_address(text: str) -> Address | None:
    """The address that a text is: four decimal octets without leading zeros, or IPv6 as RFC 4291 writes it, without a
    zone; None for any other text.

    >>> parse_address("::1"), parse_address("10.0.0.01")
    (Address(bits=128, number=1), None)
    """
    try:
        if ":" not in text:
            return Address(32, int(IPv4Address(text)))
        return None if "%" in text else Address(128, int(IPv6Address(text)))
    except AddressValueError:
        return None


def parse_subnet(text: str) -> Subnet | None:
    """The subnet that a text is: its first address, "/" and the number of leading bits; None for any other text.

    >>> parse_subnet("10.0.0.0/8") is None, parse_subnet("10.0.0.1/8") is None
    (False, True)
    """
    start, _, prefix = text.partition("/")
    base = parse_address(start)
    if base is None or not _PREFIX.fullmatch(prefix) or int(prefix) > base.bits:
        return None
    return Subnet(base, int(prefix)) if base.start(int(prefix)) == base else None


def address_text(address: Address) -> str:
    """The canonical text: IPv6 in lower case, the longest run of zero groups as "::", IPv4 inside IPv6 as such.

    >>> address_text(Address(128, 0xFFFF0A000001)), address_text(Address(128, 1 << 112))
    ('::ffff:10.0.0.1', '1::')
    """
    if address.bits == 32:
        return str(IPv4Address(address.number))
    if address.number >> 32 == 0xFFFF:
        return f"::ffff:{IPv4Address(address.number & 0xFFFFFFFF)}"
    return str(IPv6Address(address.number))


Step: TypeAlias = str | int
"""The name of a member of an object, or the index of an item of an array, from 0."""

_STEP = re.compile(
    r"""\.(?P<name>[A-Za-z_][A-Za-z0-9_]*) | \[(?P<index>0|[1-9][0-9]{0,8})\]
    | \[(?P<quoted>"(?:[^"\\]|\\.)*")\] | \['(?P<single>[^'"\\]*)'\]""",
    re.VERBOSE | re.DOTALL,
)


def parse_path(text: str) -> tuple[Step, ...] | None:
    r"""The steps of a path; None for what is none.

    >>> parse_path('$.a["b c"][0]'), parse_path("$['x']"), parse_path("a.b")
    (('a', 'b c', 0), ('x',), None)
    """
    if not text.startswith("$"):
        return None
    steps: list[Step] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        try:
            steps.append(_step(found))
        except ValueError:
            return None
        at = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        return int(found["index"])
    if found["quoted"] is not None:
        return str(json.loads(found["quoted"]))
    return str(found["name"] if found["name"] is not None else found["single"])
