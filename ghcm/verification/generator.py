"""Canonical values of any type for a unit: the numbers and texts that it mentions and what is next to them, extremes,
nulls, NaN, texts that look like something else; and few different ones at a time, so that keys meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from decimal import Decimal as Number
from random import Random
from typing import Any, TypeVar, cast

from ghcm import types
from ghcm.expr import Literal
from ghcm.types import INT_MAX, INT_MIN, Type
from ghcm.values.decimals import EXACT

T = TypeVar("T")

_TEXTS = (
    "", " ", "a", "b", "ab", "ba", "aab", "a b ", " b", "A,b", "12", "-7", "007", "1.5", "nan", "true", "é", "e\u0301",
    "ß", "日本", "😀", "a\tb", "line\nend", 'quo"te', "back\\slash", "null", "10.0.0.1",
)  # fmt: skip
_INTS = (0, 1, -1, 2, 3, 7, 10, 1000, 2**31, 2**53 + 1, INT_MAX, INT_MIN)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 3.0, 1e16, 1e308, 5e-324, math.nan, math.inf, -math.inf)
_DAY, _SECOND = 86_400_000_000, 1_000_000
_BASE = 1_767_312_000_000_000
"""A moment in 2026: times lie around it, so that windows have several records."""
_SPREAD_S = 90
_KNOWN, _FRESH, _NULL = 0.3, 0.15, 0.15


def literals(part: object) -> Iterator[Literal]:
    """The constants within an operation, a task or a unit."""
    if isinstance(part, Literal):
        yield part
    elif is_dataclass(part):
        for name in (each.name for each in fields(part)):
            yield from literals(getattr(part, name))
    elif isinstance(part, tuple):
        for each in cast("tuple[object, ...]", part):
            yield from literals(each)


class Generator:
    """Values of one example, the same for the same random numbers. `mentioned`: the constants of the unit."""

    def __init__(self, random: Random, mentioned: list[Literal]) -> None:
        self._random = random
        self._mentioned: dict[str, list[object]] = {}
        for each in mentioned:
            if each.value is not None:
                self._mentioned.setdefault(str(types.strip(each.type)), []).append(each.value)
        self._pools: dict[Type, list[object]] = {}

    def row(self, schema: types.Struct) -> tuple[object, ...]:
        """A row of these columns."""
        return cast("tuple[object, ...]", self.value(schema))

    def value(self, type_: Type) -> object:
        """A value, as a rule one that there was before."""
        if isinstance(type_, types.Nullable):
            return None if self._random.random() < _NULL else self.value(type_.of)
        if isinstance(type_, types.Struct) and not type_.cases:
            return tuple(self.value(field.type) for field in type_.fields)
        pool = self._pools.get(type_)
        if pool is None:
            pool = self._pools[type_] = [self._fresh(type_) for _ in range(self._random.randint(2, 6))]
        return self._fresh(type_) if self._random.random() < _FRESH else self._random.choice(pool)

    def _fresh(self, type_: Type) -> object:
        random = self._random
        known = self._mentioned.get(str(type_), [])
        if known and random.random() < _KNOWN:
            return self._near(random.choice(known), type_)
        match type_:
            case types.List(item=item):
                return [self.value(item) for _ in range(random.choice((0, 1, 1, 2, 3)))]
            case types.Map(key=key, value=value):
                return {self.value(key): self.value(value) for _ in range(random.randint(0, 2))}
            case types.Struct():
                return self._variant(type_)
            case types.Decimal(precision=precision, scale=scale):
                most = 10**precision - 1
                units = random.choice((random.randint(-3, 3), random.randint(-most, most), most, -most))
                return Number(units).scaleb(-scale, EXACT)
            case types.Enumeration(values=values):
                return random.choice(values)
            case _:  # a table has them
                return _SCALARS[type(type_)](random)

    def _near(self, value: object, type_: Type) -> object:
        """The constant itself, or what is next to it."""
        if isinstance(value, int) and not isinstance(value, bool) and not isinstance(type_, types.Date):
            least, most = (-(2**31), 2**31 - 1) if isinstance(type_, types.Int32) else (INT_MIN, INT_MAX)
            return max(least, min(most, value + self._random.choice((-1, 0, 0, 1))))
        return value

    def _variant(self, union: types.Struct) -> object:
        """A record of a tagged union: what the others have is null."""
        tag = self._fresh(types.strip(union.fields[0].type))
        cases, needed = dict(union.cases), {(text, name) for text, name, _ in union.needs}
        held: list[object] = [tag]
        for field in union.fields[1:]:
            there = field.name not in cases or tag in cases[field.name]
            type_ = types.strip(field.type) if (tag, field.name) in needed else field.type
            held.append(self.value(type_) if there else None)
        return tuple(held)


def _int(random: Random) -> int:
    return random.choice((random.randint(-3, 12), random.choice(_INTS), random.randint(-1000, 1000)))


def _float(random: Random) -> float:
    return random.choice((float(random.randint(-8, 8)), random.choice(_FLOATS), random.uniform(-10, 10)))


def _text(random: Random) -> str:
    return random.choice((random.choice(_TEXTS), "".join(random.choices("abAB 1,.é", k=random.randint(0, 4)))))


def _moment(random: Random) -> int:
    near = _BASE + random.randint(0, _SPREAD_S) * _SECOND + random.choice((0, 0, 1, 999_999, -1))
    return near if random.random() < 0.95 else random.choice((0, -1, _BASE + _DAY, -_DAY))


_SCALARS: dict[type[Type], Callable[[Random], object]] = {
    types.Bool: lambda random: random.random() < 0.5,
    types.Int: _int,
    types.Int32: lambda random: random.choice((random.randint(-3, 12), 2**31 - 1, -(2**31))),
    types.Float: _float,
    types.String: _text,
    types.Bytes: lambda random: random.choice((b"", b"\x00", b"\xff\xfe", b"abc")),
    types.Timestamp: _moment,
    types.Date: lambda random: random.choice((0, 1, -1, 20_454, 20_455, -25_567)),
    types.Duration: lambda random: random.choice((0, 1, -1, _SECOND, 10 * _SECOND, -_DAY, INT_MAX)),
    types.Null: lambda _: None,
}


def simpler(value: object, type_: Type) -> Iterator[object]:
    """Values of a type that say less than this one, the simplest first."""
    if isinstance(type_, types.Nullable):
        if value is None:
            return
        yield None
    plain: Any = types.strip(type_)
    zero = {types.Int: 0, types.Int32: 0, types.Float: 0.0, types.String: "", types.Bool: False, types.Bytes: b""}
    if type(plain) in zero and value != zero[type(plain)]:
        yield zero[type(plain)]
    if isinstance(plain, types.Int) and isinstance(value, int) and value != 1:
        yield 1
    if isinstance(plain, types.String) and isinstance(value, str) and len(value) > 1:
        yield from (value[:-1], value[1:])
    if isinstance(plain, types.List) and value:
        items = cast("list[object]", value)
        yield from ([], items[:-1], items[1:])
    if isinstance(plain, types.Timestamp) and value != _BASE:
        yield _BASE
