"""Examples of functions of IP addresses."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "is_ip": (Example('is_ip("10.0.0.1")', "true"), Example('is_ip("10.0.0.256")', "false")),
    "is_ipv4": (Example('is_ipv4("10.0.0.01")', "false"),),
    "is_ipv6": (Example('is_ipv6("::1")', "true"),),
    "ip_canonical": (
        Example('ip_canonical("2001:DB8:0:0:0:0:0:1")', '"2001:db8::1"'),
        Example("ip_canonical(r.s)", fails=Failure.BAD_CAST, given=("{ s: string }", '{ s: "localhost" }')),
    ),
    "ip_to_int": (Example('ip_to_int("10.0.0.1")', "167772161"), Example('ip_to_int("::1")', fails=Failure.BAD_CAST)),
    "int_to_ip": (Example("int_to_ip(167772161)", '"10.0.0.1"'), Example("int_to_ip(-1)", fails=Failure.OUT_OF_RANGE)),
    "in_subnet": (
        Example('in_subnet("10.1.2.3", "10.1.0.0/16")', "true"),
        Example('in_subnet(r.s, "10.1.0.0/16")', fails=Failure.BAD_CAST, given=("{ s: string }", '{ s: "localhost" }')),
    ),
    "subnet_of": (
        Example('subnet_of("10.1.2.3", 16)', '"10.1.0.0/16"'),
        Example('subnet_of("10.1.2.3", 33)', fails=Failure.OUT_OF_RANGE),
    ),
    "is_private": (
        Example('is_private("192.168.1.7")', "true"),
        Example("is_private(r.s)", fails=Failure.BAD_CAST, given=("{ s: string }", '{ s: "localhost" }')),
    ),
    "is_multicast": (
        Example('is_multicast("224.0.0.1")', "true"),
        Example("is_multicast(r.s)", fails=Failure.BAD_CAST, given=("{ s: string }", '{ s: "localhost" }')),
    ),
}
