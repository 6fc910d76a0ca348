"""The meanings of the functions of IP addresses."""

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, fail
from ghcm.values.texts import Address, Subnet, address_text, parse_address, parse_subnet

_PRIVATE = (
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "169.254.0.0/16"),
    *("::1/128", "fc00::/7", "fe80::/10"),
)
_MULTICAST = ("224.0.0.0/4", "ff00::/8")


def _address(text: str) -> Address:
    return parse_address(text) or fail(Failure.BAD_CAST, f"{text!r} is no IP address")


def _subnet(text: str) -> Subnet:
    return parse_subnet(text) or fail(Failure.BAD_CAST, f"{text!r} is no subnet")


def _to_int(_: Types, text: str) -> int:
    address = _address(text)
    return address.number if address.bits == 32 else fail(Failure.BAD_CAST, f"{text} has more than 64 bits")


def _from_int(_: Types, number: int) -> str:
    if not 0 <= number < 2**32:
        fail(Failure.OUT_OF_RANGE, f"there is no IPv4 address {number}")
    return address_text(Address(32, number))


def _in_subnet(_: Types, text: str, subnet: str) -> bool:
    address = _address(text)
    return address in _subnet(subnet)


def _subnet_of(_: Types, text: str, prefix: int) -> str:
    address = _address(text)
    if not 0 <= prefix <= address.bits:
        fail(Failure.OUT_OF_RANGE, f"{text} has no {prefix} leading bits")
    return f"{address_text(address.start(prefix))}/{prefix}"


def _within(text: str, subnets: tuple[str, ...]) -> bool:
    address = _address(text)
    if address in _subnet("::ffff:0:0/96"):
        address = Address(32, address.number & 0xFFFFFFFF)
    return any(address in _subnet(each) for each in subnets)


MEANINGS: dict[str, Meaning] = {
    "is_ip": lambda _, a: parse_address(a) is not None,
    "is_ipv4": lambda _, a: ":" not in a and parse_address(a) is not None,
    "is_ipv6": lambda _, a: ":" in a and parse_address(a) is not None,
    "ip_canonical": lambda _, a: address_text(_address(a)),
    "ip_to_int": _to_int,
    "int_to_ip": _from_int,
    "in_subnet": _in_subnet,
    "subnet_of": _subnet_of,
    "is_private": lambda _, a: _within(a, _PRIVATE),
    "is_multicast": lambda _, a: _within(a, _MULTICAST),
}
