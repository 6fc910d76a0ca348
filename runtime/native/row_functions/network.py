"""IP addresses in generated row code."""

from functools import lru_cache
from socket import AF_INET, AF_INET6, inet_ntoa, inet_pton
from typing import TypeAlias

from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure

_Address: TypeAlias = tuple[int, int]
"""How many bits it has, and its number."""


def is_ip(text: str) -> bool:
    """Whether it is an address."""
    return _parsed(text) is not None


def is_ipv4(text: str) -> bool:
    """Whether it is an IPv4 address."""
    return ":" not in text and _parsed(text) is not None


def is_ipv6(text: str) -> bool:
    """Whether it is an IPv6 address."""
    return ":" in text and _parsed(text) is not None


def ip_canonical(text: str) -> str:
    """The one text of the address."""
    return _text(*_address(text))


def ip_to_int(text: str) -> int:
    """The number of an IPv4 address."""
    bits, number = _address(text)
    if bits != 32:
        raise RecordFailure(Failure.BAD_CAST, f'"{text}" is no IPv4 address')
    return number


def int_to_ip(number: int) -> str:
    """The IPv4 address of that number."""
    if not 0 <= number < 2**32:
        raise RecordFailure(Failure.OUT_OF_RANGE, f"there is no IPv4 address {number}")
    return _text(32, number)


def in_subnet(text: str, net: str) -> bool:
    """Whether the address is in the subnet."""
    bits, number = _address(text)
    length, base, host = subnet(net)
    return bits == length and number >> host == base >> host


@lru_cache(maxsize=4096)
def subnet(text: str) -> tuple[int, int, int]:
    """How many bits the addresses of a subnet have, the first of them, and how many bits are free."""
    start, _, digits = text.partition("/")
    base = _parsed(start)
    plain = digits.isascii() and digits.isdecimal() and len(digits) <= 3 and (digits == "0" or digits[0] != "0")
    if base is not None and plain and int(digits) <= base[0]:
        bits, number = base
        host = bits - int(digits)
        if number >> host << host == number:
            return bits, number, host
    raise RecordFailure(Failure.BAD_CAST, f'"{text[:100]}" is no subnet')


def subnet_of(text: str, prefix: int) -> str:
    """The subnet of so many leading bits around the address."""
    bits, number = _address(text)
    if not 0 <= prefix <= bits:
        raise RecordFailure(Failure.OUT_OF_RANGE, f'"{text}" has no {prefix} leading bits')
    host = bits - prefix
    return f"{_text(bits, number >> host << host)}/{prefix}"


def is_private(text: str) -> bool:
    """Whether the address is private, loopback, link-local or unique local."""
    bits, number = _plain(*_address(text))
    if bits == 32:
        return number >> 24 in (10, 127) or number >> 20 == 0xAC1 or number >> 16 in (0xC0A8, 0xA9FE)
    return number == 1 or number >> 121 == 0xFC >> 1 or number >> 118 == 0xFE80 >> 6


def is_multicast(text: str) -> bool:
    """Whether the address is one of many receivers."""
    bits, number = _plain(*_address(text))
    return number >> 28 == 0xE if bits == 32 else number >> 120 == 0xFF


# --- parts -----------------------------------------------------------------------------------------------------------


def _address(text: str) -> _Address:
    found = _parsed(text)
    if found is None:
        raise RecordFailure(Failure.BAD_CAST, f'"{text[:100]}" is no IP address')
    return found


def _parsed(text: str) -> _Address | None:
    if "%" in text:  # some systems take a zone
        return None
    try:
        if ":" in text:
            return 128, int.from_bytes(inet_pton(AF_INET6, text), "big")
        return 32, int.from_bytes(inet_pton(AF_INET, text), "big")
    except (OSError, ValueError):
        return None


def _plain(bits: int, number: int) -> _Address:
    """IPv4 inside IPv6 as IPv4."""
    return (32, number & 0xFFFFFFFF) if bits == 128 and number >> 32 == 0xFFFF else (bits, number)


def _text(bits: int, number: int) -> str:
    if bits == 32:
        return inet_ntoa(number.to_bytes(4, "big"))
    if number >> 32 == 0xFFFF:
        return f"::ffff:{_text(32, number & 0xFFFFFFFF)}"
    groups = [number >> shift & 0xFFFF for shift in range(112, -1, -16)]
    runs = [next((length for length in range(8 - at) if groups[at + length]), 8 - at) for at in range(8)]
    length = max(runs)
    texts = [f"{group:x}" for group in groups]
    if length < 2:
        return ":".join(texts)
    start = runs.index(length)
    return f"{':'.join(texts[:start])}::{':'.join(texts[start + length :])}"
