"""IP addresses in generated columnar code: values, and masks of the records that fail.

IPv4 is arithmetic of columns. IPv6 does not fit a column of numbers: each different text of a batch is computed once by
the row form; where a subnet or a prefix is a column too, its records go by rows.
"""

from collections.abc import Callable

import polars as pl

from ghcm.runtime.native.row_functions import network
from ghcm.runtime.native.rows import RecordFailure

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_DOTTED = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUP = "[0-9A-Fa-f]{1,4}"


def _shortened(before: int) -> str:
    """The form of IPv6 with so many groups before the "::"."""
    left = f"(?:{_GROUP}:){{{before}}}:" if before else "::"
    ends = [f"(?:{_GROUP}:){{0,{6 - before}}}{_GROUP}"] if before < 7 else []
    ends += [f"(?:{_GROUP}:){{0,{5 - before}}}{_DOTTED}"] if before < 6 else []
    return f"{left}(?:{'|'.join(ends)})?"


_FORMS = [f"(?:{_GROUP}:){{7}}{_GROUP}", f"(?:{_GROUP}:){{6}}{_DOTTED}", *map(_shortened, range(8))]
_IPV4 = rf"\A{_DOTTED}\z"
_IPV6 = rf"\A(?:{'|'.join(_FORMS)})\z"
_SUBNET = rf"\A{_DOTTED}/(?:3[0-2]|[12]?[0-9])\z"


def is_ipv4(value: pl.Expr) -> pl.Expr:
    """Whether it is an IPv4 address."""
    return value.str.contains(_IPV4)


def is_ipv6(value: pl.Expr) -> pl.Expr:
    """Whether it is an IPv6 address."""
    return value.str.contains(_IPV6)


def is_ip(value: pl.Expr) -> pl.Expr:
    """Whether it is an address."""
    return is_ipv4(value) | is_ipv6(value)


def ip_to_int(value: pl.Expr) -> pl.Expr:
    """The number of an IPv4 address, null of other texts."""
    octets = pl.when(is_ipv4(value)).then(value).str.split_exact(".", 3)
    first, second, third, last = (octets.struct.field(f"field_{index}").cast(pl.Int64) for index in range(4))
    return ((first * 256 + second) * 256 + third) * 256 + last


def int_to_ip(number: pl.Expr) -> pl.Expr:
    """The IPv4 address of a number."""
    octets = [(number // 256**index % 256).cast(pl.String) for index in (3, 2, 1, 0)]
    return octets[0] + "." + octets[1] + "." + octets[2] + "." + octets[3]


def int_to_ip_fails(number: pl.Expr) -> pl.Expr:
    """Where no address has the number."""
    return (number < 0) | (number >= 2**32)


def ip_canonical(value: pl.Expr) -> pl.Expr:
    """The one text of the address."""
    return _either(value, value, network.ip_canonical, pl.String)


def is_private(value: pl.Expr) -> pl.Expr:
    """Whether the address is private, loopback, link-local or unique local."""
    number = ip_to_int(value)
    found = (number // 2**24).is_in([10, 127]) | (number // 2**20 == 0xAC1)
    return _either(value, found | (number // 2**16).is_in([0xC0A8, 0xA9FE]), network.is_private, pl.Boolean)


def is_multicast(value: pl.Expr) -> pl.Expr:
    """Whether the address is one of many receivers."""
    return _either(value, ip_to_int(value) // 2**28 == 0xE, network.is_multicast, pl.Boolean)


def in_subnet(value: pl.Expr, net: str) -> pl.Expr:
    """Whether the address is in a subnet that is known."""
    bits, base, host = network.subnet(net)
    if bits == 32:
        return pl.when(value.is_not_null()).then((ip_to_int(value) // 2**host == base >> host).fill_null(value=False))
    return _either(value, pl.lit(value=False), lambda text: network.in_subnet(text, net), pl.Boolean)


def in_any_subnet(value: pl.Expr, net: pl.Expr) -> pl.Expr:
    """Whether an IPv4 address is in a subnet of IPv4."""
    size = _size(net)
    return ip_to_int(value) // size == _base(net) // size


def in_any_subnet_fails(value: pl.Expr, net: pl.Expr) -> pl.Expr:
    """Where the one is no IPv4 address or the other no subnet of IPv4."""
    given = value.is_not_null() & net.is_not_null()
    return given & (~is_ipv4(value) | ~net.str.contains(_SUBNET) | (_base(net) % _size(net) != 0))


def subnet_of(value: pl.Expr, prefix: int) -> pl.Expr:
    """The subnet of so many leading bits around the address."""
    number = ip_to_int(value)
    start = int_to_ip(number - number % 2 ** max(0, 32 - prefix)) + f"/{prefix}"
    return _either(value, start, lambda text: network.subnet_of(text, prefix), pl.String)


def subnet_of_fails(value: pl.Expr, prefix: int) -> pl.Expr:
    """Where a text is no address of so many bits."""
    return ~is_ip(value) if prefix <= 32 else ~is_ipv6(value)


def any_subnet_of(value: pl.Expr, prefix: pl.Expr) -> pl.Expr:
    """The subnet of so many leading bits around an IPv4 address."""
    number = ip_to_int(value)
    return int_to_ip(number - number % _free(prefix)) + "/" + prefix.cast(pl.String)


def any_subnet_of_fails(value: pl.Expr, prefix: pl.Expr) -> pl.Expr:
    """Where a text is no IPv4 address or there are not so many bits."""
    return value.is_not_null() & prefix.is_not_null() & (~is_ipv4(value) | (prefix < 0) | (prefix > 32))


# --- parts -----------------------------------------------------------------------------------------------------------


def _base(net: pl.Expr) -> pl.Expr:
    return ip_to_int(net.str.split("/").list.get(0, null_on_oob=True))


def _size(net: pl.Expr) -> pl.Expr:
    return _free(net.str.extract("/([0-9]{1,2})$").cast(pl.Int64, strict=False))


def _free(prefix: pl.Expr) -> pl.Expr:
    """How many addresses of IPv4 share so many leading bits."""
    return pl.lit(2, pl.Int64).pow((32 - prefix.clip(0, 32)).cast(pl.UInt32)).cast(pl.Int64)


def _either(
    value: pl.Expr, ipv4: pl.Expr, ipv6: Callable[[str], object], dtype: type[pl.DataType] | pl.DataType
) -> pl.Expr:
    """A column for addresses of IPv4, and a function for the texts that are none."""

    def compute(text: str) -> object:
        try:
            return ipv6(text)
        except RecordFailure:
            return None

    def each(texts: pl.Series) -> pl.Series:
        different = texts.drop_nulls().unique()
        if not len(different):
            return pl.Series(texts.name, [None] * len(texts), dtype=dtype)
        made = pl.Series([compute(text) for text in different], dtype=dtype)
        return texts.replace_strict(different, made, default=None, return_dtype=dtype)

    others = pl.when(~is_ipv4(value)).then(value)
    return pl.when(is_ipv4(value)).then(ipv4).otherwise(others.map_batches(each, return_dtype=dtype))
