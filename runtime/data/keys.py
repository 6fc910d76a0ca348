"""The identity of keys inside an engine process. Their key group, which holds for ever, stands in `key_groups`.

Two keys are the same where the language says that their values are equal: null is null, NaN is NaN, -0.0 is 0.0.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias, assert_never, cast

from ghcm import types

Change: TypeAlias = Callable[[object], object]
_NAN = math.nan


@lru_cache(maxsize=1024)
def identity_of(type_: types.Type) -> Change | None:
    """What makes of a canonical value something that Python hashes and compares as the language tells keys apart.

    None where the value itself does. Lists become tuples, NaN one object, -0.0 becomes 0.0, maps their sorted pairs.
    """
    match type_:
        case types.Nullable(of=of):
            return _optional(identity_of(of))
        case types.Float():
            return _one_float
        case types.List(item=item):
            return _each(identity_of(item), tuple)
        case types.Struct(fields=fields):
            return _parts([identity_of(field.type) for field in fields])
        case types.Map(key=key, value=value):
            return _pairs(identity_of(key), identity_of(value))
        case types.Scalar() | types.Decimal() | types.Enumeration():  # as Python hashes and compares
            return None
        case _:
            assert_never(type_)


def naming_of(type_: types.Type) -> Change:
    """As `identity_of`, and what gives the value itself where that is its identity."""
    return identity_of(type_) or _itself


def _itself(value: object) -> object:
    return value


@lru_cache(maxsize=1024)
def value_of(type_: types.Type) -> Change | None:
    """The way back from an identity to a canonical value; None where it is that already."""
    match type_:
        case types.Nullable(of=of):
            return _optional(value_of(of))
        case types.List(item=item):
            return _each(value_of(item), list)
        case types.Struct(fields=fields):
            return _parts([value_of(field.type) for field in fields])
        case types.Map():
            return _map
        case types.Scalar() | types.Decimal() | types.Enumeration():  # an identity is the value itself
            return None
        case _:
            assert_never(type_)


def _one_float(value: object) -> object:
    assert isinstance(value, float)
    return _NAN if math.isnan(value) else value + 0.0


def _optional(of: Change | None) -> Change | None:
    if of is None:
        return None
    return lambda value: None if value is None else of(value)


def _parts(changes: list[Change | None]) -> Change | None:
    if not any(changes):
        return None

    def identity(value: object) -> object:
        parts = zip(changes, cast("tuple[object, ...]", value), strict=True)
        return tuple([each if change is None else change(each) for change, each in parts])

    return identity


def _each(change: Change | None, made: type[tuple[object, ...]] | type[list[object]]) -> Change:
    def several(value: object) -> object:
        items = cast("list[object]", value)
        return made(items if change is None else map(change, items))

    return several


def _map(pairs: object) -> object:
    return dict(cast("tuple[tuple[object, object], ...]", pairs))


def _pairs(key: Change | None, value: Change | None) -> Change:
    def identity(held: object) -> object:
        items = cast("dict[object, object]", held).items()
        pairs = [(name if key is None else key(name), each if value is None else value(each)) for name, each in items]
        return tuple(sorted(pairs, key=repr))

    return identity
