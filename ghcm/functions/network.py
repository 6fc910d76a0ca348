"""IP addresses in the table of functions.

Addresses and subnets are strings. An address is four decimal octets without leading zeros, or IPv6 as RFC 4291 writes it, without a
zone; a subnet is its first address, "/" and the number of leading bits. IPv4 and IPv6 are never in subnets of each other.
"""

from __future__ import annotations

from ghcm.functions.table import Failure, Function
from ghcm.signatures import BOOL, INT, STRING, TEXT2, fixed

TABLE = (
    Function("is_ip", "is_ip(s)", fixed(BOOL, STRING), "whether it is an IPv4 or IPv6 address"),
    Function(
        "is_ipv4",
        "is_ipv4(s)",
        fixed(BOOL, STRING),
        "whether it is four decimal octets without leading zeros: 10.0.0.1",
    ),
    Function("is_ipv6", "is_ipv6(s)", fixed(BOOL, STRING), "whether it is an IPv6 address (RFC 4291), without a zone"),
    Function(
        "ip_canonical",
        "ip_canonical(ip)",
        fixed(STRING, STRING),
        "the one text of the address (RFC 5952): IPv6 in lower case, the longest run of zeros as `::`, IPv4 inside IPv6 as `::ffff:10.0.0.1`",
        failures=(Failure.BAD_CAST,),
    ),
    Function(
        "ip_to_int",
        "ip_to_int(ip)",
        fixed(INT, STRING),
        "an IPv4 address as a number from 0 to 4294967295; fails for IPv6",
        failures=(Failure.BAD_CAST,),
    ),
    Function(
        "int_to_ip",
        "int_to_ip(n)",
        fixed(STRING, INT),
        "the IPv4 address of that number",
        failures=(Failure.OUT_OF_RANGE,),
    ),
    Function(
        "in_subnet",
        "in_subnet(ip, subnet)",
        TEXT2,
        'whether the address is in a subnet such as "10.0.0.0/8" or "2001:db8::/32"; fails for a subnet with bits set behind its prefix',
        failures=(Failure.BAD_CAST,),
    ),
    Function(
        "subnet_of",
        "subnet_of(ip, prefix)",
        fixed(STRING, STRING, INT),
        "the canonical text of the subnet of so many leading bits around the address: 10.1.0.0/16",
        failures=(Failure.BAD_CAST, Failure.OUT_OF_RANGE),
    ),
    Function(
        "is_private",
        "is_private(ip)",
        fixed(BOOL, STRING),
        "whether it is in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 127.0.0.0/8 (loopback), 169.254.0.0/16 (link-local), or is ::1, in fc00::/7 (unique local) or fe80::/10 (link-local); IPv4 inside IPv6 (::ffff:0:0/96) counts as IPv4",
        failures=(Failure.BAD_CAST,),
    ),
    Function(
        "is_multicast",
        "is_multicast(ip)",
        fixed(BOOL, STRING),
        "whether it is in 224.0.0.0/4 or ff00::/8; IPv4 inside IPv6 (::ffff:0:0/96) counts as IPv4",
        failures=(Failure.BAD_CAST,),
    ),
)
