"""IP addresses and subnets as texts: strict reading, and the canonical text by RFC 5952.

It serves the compiler, which refuses constants that are none, and the reference. The engines have readers of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

_PREFIX = re.compile("0|[1-9][0-9]{0,2}")


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
