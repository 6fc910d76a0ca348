"""IP addresses as Polars."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.column_functions.emitting import Emit, Scope, arguments_of, helper, masks_of, with_masks
from ghcm.codegen.native.column_text import Column
from ghcm.expr import Call
from ghcm.values.texts import parse_subnet


def _total(name: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found = scope.value(expr.arguments[0])
        return with_masks(helper(f"network.{name}", found), found.fails)

    return emit


def _partial(name: str, fails: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found = arguments_of(scope, expr)
        return with_masks(helper(f"network.{name}", *found), masks_of(found), helper(f"network.{fails}", *found))

    return emit


def _in_subnet(scope: Scope, expr: Call) -> Column:
    text = constant(expr.arguments[1])
    if not isinstance(text, str) or parse_subnet(text) is None:
        return _partial("in_any_subnet", "in_any_subnet_fails")(scope, expr)
    found = scope.value(expr.arguments[0])
    value = helper("network.in_subnet", found, Column(f'"{text}"'))
    return with_masks(value, found.fails, helper("network.no_address", found))


def _subnet_of(scope: Scope, expr: Call) -> Column:
    prefix = constant(expr.arguments[1])
    if not isinstance(prefix, int) or not 0 <= prefix <= 128:
        return _partial("any_subnet_of", "any_subnet_of_fails")(scope, expr)
    found = scope.value(expr.arguments[0])
    written = Column(str(prefix))
    value = helper("network.subnet_of", found, written)
    return with_masks(value, found.fails, helper("network.subnet_of_fails", found, written))


EMITTERS: dict[str, Emit] = {
    **{name: _total(name) for name in ("is_ip", "is_ipv4", "is_ipv6")},
    **{name: _partial(name, "no_address") for name in ("ip_canonical", "is_private", "is_multicast")},
    "ip_to_int": _partial("ip_to_int", "no_ipv4"),
    "int_to_ip": _partial("int_to_ip", "int_to_ip_fails"),
    "in_subnet": _in_subnet,
    "subnet_of": _subnet_of,
}
