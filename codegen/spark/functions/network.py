"""IP addresses as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, Writer, plain
from ghcm.codegen.spark.text import quote
from ghcm.expr import Call, Literal
from ghcm.values.texts import parse_subnet


def _in_subnet(writer: Writer, call: Call) -> str:
    """A subnet that is known becomes the digits and the number of bits that are compared."""
    net = call.arguments[1]
    known = parse_subnet(net.value) if isinstance(net, Literal) and isinstance(net.value, str) else None
    if known is None:
        return writer.call("in_subnet", *map(writer.emit, call.arguments))
    digits = f"{known.base.number:0{known.base.bits // 4}x}"
    return f"in_known_subnet({writer.emit(call.arguments[0])}, {quote(digits)}, {known.prefix})"


EMITTERS: dict[str, Emit] = {
    **{name: plain(name) for name in ("is_ip", "is_ipv4", "is_ipv6", "ip_canonical", "ip_to_int", "int_to_ip")},
    **{name: plain(name) for name in ("subnet_of", "is_private", "is_multicast")},
    "in_subnet": _in_subnet,
}
