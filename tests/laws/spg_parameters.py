"""Parameters of generated units: one of each type, with its default."""

from __future__ import annotations

from decimal import Decimal as Number

from ghcm.expr import Param, Value
from ghcm.spg.graph import Parameter
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Map,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    Variant,
    tuple_of,
    union_type,
)
from tests.laws.spg_flows import Chain
from tests.laws.spg_values import ENUMS

__all__ = ["PARAMETERS", "parameters_of"]

_ONE, _TWO = (Struct((Field(name, each),), name.upper()) for name, each in (("a", Int()), ("b", String())))
_UNION = union_type("Event", "kind", (Variant("one", _ONE), Variant("", _TWO)))
assert isinstance(_UNION, Struct)
_DEFAULTS: tuple[tuple[Type, Value], ...] = (
    (Int(), 3),
    (String(), "ab"),
    (Float(), 1.5),
    (Bool(), True),
    (Timestamp(), 1_000_000),
    (Duration(), 500_000),
    (Int32(), -7),
    (Date(), 20_454),
    (Bytes(), b"a"),
    *((each, each.values[-1]) for each in ENUMS),
    (Decimal(10, 2), Number("0.07")),
    (Nullable(Int()), None),
    (Nullable(String()), ""),
    (List(Int()), [1, 2]),
    (Map(String(), Int()), {"a": 1, "": 2}),
    (tuple_of(Int(), Bool()), (1, True)),
    (_UNION, ("one", 7, None)),
    (Nullable(_UNION), ("", None, "b")),
)
PARAMETERS = tuple(Param(f"p{place}", type_) for place, (type_, _) in enumerate(_DEFAULTS))


def parameters_of(chain: Chain) -> tuple[Parameter, ...]:
    """What the unit of a chain may be given, and is not."""
    known = {"depth": 3} | {f"p{place}": default for place, (_, default) in enumerate(_DEFAULTS)}
    return tuple(Parameter(each.name, each.type, False, known[each.name]) for each in chain.parameters)
