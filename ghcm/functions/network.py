"""IP addresses in the table of functions.

Addresses and subnets are strings. An address is four decimal octets without leading zeros, or IPv6 as RFC 4291 writes
it, without a zone; a subnet is its first address, "/" and the number of leading bits. IPv4 and IPv6 are never in
subnets of each other.
"""

from ghcm.functions.table import Example, Failure, Function
from ghcm.signatures import BOOL, INT, STRING

_NO_ADDRESS = ("{ s: string }", '{ s: "localhost" }')

# fmt: off
TABLE = (
    Function(
        "is_ip", "(s)", (STRING,), BOOL, "whether it is an IPv4 or IPv6 address",
        shows={'is_ip("10.0.0.1")': "true", 'is_ip("10.0.0.256")': "false"},
        python="row_network.is_ip({0})", polars="column_network.is_ip({0})",
    ),
    Function(
        "is_ipv4", "(s)", (STRING,), BOOL, "whether it is four decimal octets without leading zeros: 10.0.0.1",
        shows={'is_ipv4("10.0.0.01")': "false"},
        python="row_network.is_ipv4({0})", polars="column_network.is_ipv4({0})",
    ),
    Function(
        "is_ipv6", "(s)", (STRING,), BOOL, "whether it is an IPv6 address (RFC 4291), without a zone",
        shows={'is_ipv6("::1")': "true"},
        python="row_network.is_ipv6({0})", polars="column_network.is_ipv6({0})",
    ),
    Function(
        "ip_canonical", "(ip)", (STRING,), STRING,
        "the one text of the address (RFC 5952): IPv6 in lower case, the longest run of zeros as `::`, IPv4 inside "
        "IPv6 as `::ffff:10.0.0.1`",
        failures=(Failure.BAD_CAST,),
        shows=(
            Example('ip_canonical("2001:DB8:0:0:0:0:0:1")', '"2001:db8::1"'),
            Example("ip_canonical(r.s)", fails=Failure.BAD_CAST, given=_NO_ADDRESS),
        ),
        python="row_network.ip_canonical({0})",
        polars="column_network.ip_canonical({0})", polars_fails="~column_network.is_ip({0})",
    ),
    Function(
        "ip_to_int", "(ip)", (STRING,), INT, "an IPv4 address as a number from 0 to 4294967295; fails for IPv6",
        failures=(Failure.BAD_CAST,),
        shows={'ip_to_int("10.0.0.1")': "167772161", 'ip_to_int("::1")': Failure.BAD_CAST},
        python="row_network.ip_to_int({0})",
        polars="column_network.ip_to_int({0})", polars_fails="~column_network.is_ipv4({0})",
    ),
    Function(
        "int_to_ip", "(n)", (INT,), STRING, "the IPv4 address of that number", failures=(Failure.OUT_OF_RANGE,),
        shows={"int_to_ip(167772161)": '"10.0.0.1"', "int_to_ip(-1)": Failure.OUT_OF_RANGE},
        python="row_network.int_to_ip({0})",
        polars="column_network.int_to_ip({0})", polars_fails="column_network.int_to_ip_fails({0})",
    ),
    Function(
        "in_subnet", "(ip, subnet)", (STRING, STRING), BOOL,
        'whether the address is in a subnet such as "10.0.0.0/8" or "2001:db8::/32"; fails for a subnet with bits set '
        "behind its prefix",
        failures=(Failure.BAD_CAST,),
        shows=(
            Example('in_subnet("10.1.2.3", "10.1.0.0/16")', "true"),
            Example('in_subnet(r.s, "10.1.0.0/16")', fails=Failure.BAD_CAST, given=_NO_ADDRESS),
        ),
        python="row_network.in_subnet({0}, {1})",
    ),
    Function(
        "subnet_of", "(ip, prefix)", (STRING, INT), STRING,
        "the canonical text of the subnet of so many leading bits around the address: 10.1.0.0/16",
        failures=(Failure.BAD_CAST, Failure.OUT_OF_RANGE),
        shows={'subnet_of("10.1.2.3", 16)': '"10.1.0.0/16"', 'subnet_of("10.1.2.3", 33)': Failure.OUT_OF_RANGE},
        python="row_network.subnet_of({0}, {1})",
    ),
    Function(
        "is_private", "(ip)", (STRING,), BOOL,
        "whether it is in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 127.0.0.0/8 (loopback), 169.254.0.0/16 "
        "(link-local), or is ::1, in fc00::/7 (unique local) or fe80::/10 (link-local); IPv4 inside IPv6 "
        "(::ffff:0:0/96) counts as IPv4",
        failures=(Failure.BAD_CAST,),
        shows=(
            Example('is_private("192.168.1.7")', "true"),
            Example("is_private(r.s)", fails=Failure.BAD_CAST, given=_NO_ADDRESS),
        ),
        python="row_network.is_private({0})",
        polars="column_network.is_private({0})", polars_fails="~column_network.is_ip({0})",
    ),
    Function(
        "is_multicast", "(ip)", (STRING,), BOOL,
        "whether it is in 224.0.0.0/4 or ff00::/8; IPv4 inside IPv6 (::ffff:0:0/96) counts as IPv4",
        failures=(Failure.BAD_CAST,),
        shows=(
            Example('is_multicast("224.0.0.1")', "true"),
            Example("is_multicast(r.s)", fails=Failure.BAD_CAST, given=_NO_ADDRESS),
        ),
        python="row_network.is_multicast({0})",
        polars="column_network.is_multicast({0})", polars_fails="~column_network.is_ip({0})",
    ),
)
