"""Types and values for generated graphs: every type, with nulls, extremes, unicode and what floats have in store."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal as Number

from hypothesis import strategies as st

from ghcm.types import (
    INT_MAX,
    INT_MIN,
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
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
    is_nullable,
    union_type,
)
from ghcm.values.decimals import EXACT
from tests.conformance.functions.case import PROTO as HARD

__all__ = [
    "ENUMS",
    "NAMES",
    "SCALARS",
    "held_type",
    "records",
    "rows_of",
    "types",
    "unions",
    "values_of",
    "variants_of",
]

PROTO = Enumeration(("tcp", "udp", "icmp", "n/a", "é"), "Proto")
ENUMS = (PROTO, HARD, Enumeration(("b", "a", "12", "ab", "true"), "Word"), Enumeration(("nan",)))
"""Their values are no names, look like other types, are declared in another order than that of texts, or are one."""
SCALARS: tuple[Type, ...] = (
    Int(),
    String(),
    Float(),
    Bool(),
    Timestamp(),
    Duration(),
    Int32(),
    Date(),
    Bytes(),
    *ENUMS,
    Decimal(10, 2),
    Decimal(6, 4),
)
NAMES = ("a", "b", "c", "size", "from", "Größe", "two words")
_TEXTS = (
    "", " ", "a", "b", "ab", "A,b", "aab", "12", "-7", "+3", "007", "1.5", "1e3", "nan", "9223372036854775808", "true",
    "é", "e\u0301", "ß", "İ", "ΑΣ", "日本", "😀", "\u00a0x", "a\tb", "line\nend", 'quo"te', "back\\slash", "٣", "null",
)  # fmt: skip
_INTS = (0, 1, -1, 2, 3, 7, -7, 10, 1000, 2**31 - 1, -(2**31), 2**53 + 1, INT_MAX, INT_MIN, INT_MAX - 1)
_FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 1.5, -2.5, 3.0, 1e16, 1e-7, 123456789.125, 1e308, -1e308, 5e-324, 2.0**63,
    -(2.0**63), math.nan, math.inf, -math.inf,
)  # fmt: skip
_MAP_KEYS: tuple[Type, ...] = (String(), String(), Int(), Int(), *ENUMS[:2])
_DAY = 86_400_000_000
_MOMENTS = (0, 1, -1, 999_999, 1_000_000, 1_767_312_000_000_000, 1_767_312_000_123_456, -_DAY, -2_208_988_800_000_000)


@st.composite
def types(draw: st.DrawFn, depth: int = 1, *, keys: bool = False, nullable: bool = True) -> Type:
    """A type; with `keys` one that can be compared."""
    kinds = ["scalar"] * 7 + (["list", "struct", "union"] + ([] if keys else ["map"]) if depth > 0 else [])
    match draw(st.sampled_from(kinds)):
        case "list":
            found: Type = List(draw(types(depth - 1, keys=keys)))
        case "struct":
            found = draw(records(depth - 1, keys=keys, most=2))
        case "union":
            found = draw(unions(depth - 1, keys=keys))
        case "map":
            key: Type = draw(st.sampled_from(_MAP_KEYS))
            found = Map(key, draw(types(depth - 1)))
        case _:
            found = draw(st.sampled_from([*SCALARS, *SCALARS[:3]]))
    return Nullable(found) if nullable and draw(st.integers(0, 2)) == 0 else found


@st.composite
def records(draw: st.DrawFn, depth: int = 1, *, keys: bool = False, most: int = 4) -> Struct:
    """A struct type of one or more fields, often with a name."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=draw(st.integers(1, most)), max_size=most, unique=True))
    fields = tuple(Field(name, draw(types(depth, keys=keys))) for name in names)
    return Struct(fields, draw(st.sampled_from([None, "Flow", "Row"])))


_TAGS = ("login", "log öut", "", "a", "n/a", 'quo"te')


@st.composite
def unions(draw: st.DrawFn, depth: int = 1, *, keys: bool = False, of: Sequence[Type] | None = None) -> Struct:
    """A tagged union of records, some fields of which several have, and some of those may be null in one alone. `of`:
    what their fields may be.
    """
    field = types(depth, keys=keys, nullable=False) if of is None else st.sampled_from([*of])
    pool = {name: draw(field) for name in NAMES[: draw(st.integers(1, 4))]}
    variants: list[Variant] = []
    for place, tag in enumerate(draw(st.permutations(_TAGS))[: draw(st.integers(2, 3))]):
        names = [name for name in pool if draw(st.booleans())]
        fields = tuple(Field(name, Nullable(pool[name]) if draw(st.booleans()) else pool[name]) for name in names)
        variants.append(Variant(tag, Struct(fields, ("Login", "Logout", "Ping")[place])))
    made = union_type("Event", draw(st.sampled_from(["kind", "the tag"])), tuple(variants))
    assert isinstance(made, Struct), "a field has one type in all of them"
    return made


def variants_of(union: Struct) -> tuple[Variant, ...]:
    """The records that a union may still be: those that have each field which has lost its `?`; none of a record."""
    sure = [each.name for each in union.fields[1:] if not is_nullable(each.type)]
    return tuple(each for each in union.variants if all(each.record.get(name) for name in sure))


def held_type(union: Struct, name: str, variant: Variant) -> Type | None:
    """What a field of a union holds where it is that record; None where it has it not, and it is null."""
    own, held = variant.record.get(name), union.get(name)
    assert held is not None, "a union has the fields of its records"
    return None if own is None else own.type if is_nullable(held.type) else held.type


def _as_variant(union: Struct, variant: Variant) -> st.SearchStrategy[object]:
    held = (held_type(union, each.name, variant) for each in union.fields[1:])
    return st.tuples(st.just(variant.text), *(st.none() if type_ is None else values_of(type_) for type_ in held))


def values_of(type_: Type) -> st.SearchStrategy[object]:
    """Canonical values of a type, hard ones often."""
    match type_:
        case Nullable(of=of):
            return st.one_of(st.none(), values_of(of), values_of(of))
        case Bool():
            return st.booleans()
        case Int():
            return st.one_of(st.integers(-3, 3), st.sampled_from(_INTS), st.integers(INT_MIN, INT_MAX))
        case Int32():
            return st.one_of(st.integers(-3, 3), st.sampled_from([2**31 - 1, -(2**31)]))
        case Float():
            return st.one_of(st.sampled_from(_FLOATS), st.integers(-8, 8).map(float))
        case Decimal(precision=precision, scale=scale):
            most = 10**precision - 1
            units = st.one_of(st.integers(-3, 3), st.integers(-most, most), st.sampled_from([most, -most]))
            return units.map(lambda number: Number(number).scaleb(-scale, EXACT))
        case String():
            return st.one_of(st.sampled_from(_TEXTS), st.text("abAB 1,.éß😀", max_size=4))
        case Enumeration(values=values):
            return st.sampled_from(values)
        case Bytes():
            return st.sampled_from([b"", b"\x00", b"\xff\xfe", b"abc"])
        case Timestamp():
            return st.one_of(st.sampled_from(_MOMENTS), st.integers(0, 20).map(lambda second: second * 1_000_000))
        case Duration():
            return st.sampled_from([0, 1, -1, 500_000, 1_000_000, 10_000_000, -90_000_000, _DAY, INT_MAX, INT_MIN])
        case Date():
            return st.sampled_from([0, 1, -1, 19_782, 20_454, -25_567])
        case List(item=item):
            return st.lists(values_of(item), max_size=3)
        case Map(key=key, value=value):
            return st.dictionaries(values_of(key), values_of(value), max_size=2)
        case Struct() if possible := variants_of(type_):
            return st.one_of([_as_variant(type_, each) for each in possible])
        case Struct(fields=fields):
            return st.tuples(*(values_of(field.type) for field in fields))
        case _:
            raise ValueError(f"no values of {type_}")


@st.composite
def rows_of(
    draw: st.DrawFn, element: Type, *, most: int = 8, known: Mapping[str, list[object]] | None = None
) -> tuple[tuple[object, ...], ...]:
    """Rows of a memory source: seldom none, some of them repeated, each column from a few values, some of them
    `known`.
    """
    if draw(st.integers(0, 15)) == 15:
        return ()
    if isinstance(element, Struct) and variants_of(element):
        pool = draw(st.lists(values_of(element), min_size=1, max_size=5))
        return tuple(draw(st.lists(st.sampled_from(pool), min_size=draw(st.integers(1, most)), max_size=most)))
    columns = element.fields if isinstance(element, Struct) else (Field("value", element),)
    pools = [
        [*draw(st.lists(values_of(each.type), min_size=1, max_size=5)), *(known or {}).get(each.name, [])]
        for each in columns
    ]
    row = st.tuples(*(st.sampled_from(pool) for pool in pools))
    return tuple(draw(st.lists(row, min_size=draw(st.integers(1, most)), max_size=most)))
