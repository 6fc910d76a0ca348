"""The key group of a key: the same in every process, in rows and in columns, and for ever, since savepoints name it.

A key becomes a number of 64 bits: whole numbers, times and bits of floats as they are, texts and bytes by their CRC-32,
structs by their fields one after the other, anything else by the CRC-32 of its JSON text. `_mix` spreads it. Both forms
are written for one another: what changes here changes where the state of running programs is looked for.
"""

import math
import struct
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl
import pyarrow as pa

from ghcm import types
from ghcm.runtime.data.checksums import crc32_of
from ghcm.runtime.data.columns import values
from ghcm.runtime.data.keys import identity_of, value_of
from ghcm.values import encoder

GROUPS = 128
"""How many there are."""

Hashing: TypeAlias = Callable[[object], int]

_ALL = 2**64 - 1
_FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9
_HALF = 2**32
_NULL, _SEED = 0x6E756C6C, 0x73747275
_NAN = 0x7FF8000000000000
_WHOLE = types.Bool | types.Int | types.Int32 | types.Timestamp | types.Date | types.Duration


def key_group(key: object, type_: types.Type, groups: int = GROUPS) -> int:
    """The key group of a canonical value.

    >>> key_group("the", types.String()), key_group(-0.0, types.Float()) == key_group(0.0, types.Float())
    (83, True)
    """
    return grouping(type_, groups)(key)


@lru_cache(maxsize=1024)
def grouping(type_: types.Type, groups: int = GROUPS) -> Hashing:
    """The function that gives the key groups of canonical values of a type."""
    hashed = _hashing(type_)

    def group(key: object) -> int:
        number = hashed(key)
        return (number ^ number >> 32) % groups

    return group


def groups_of(keys: pl.Series, type_: types.Type, groups: int = GROUPS) -> pl.Series:
    """The key groups of a column of keys, as `grouping` gives them for each: unsigned whole numbers."""
    numbers = _column(keys, type_)
    return (numbers ^ numbers // _HALF) % groups


def key_type(schema: types.Struct, columns: Sequence[str]) -> types.Type:
    """The type of the key that some columns make, all where none is named: that of the one, or a struct of several."""
    fields = tuple(schema.field_of(name) for name in columns) or schema.fields
    return fields[0].type if len(fields) == 1 else types.Struct(fields)


def key_of(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """The keys that these columns of a frame make, as `key_type` says."""
    return frame[columns[0]] if len(columns) == 1 else frame.select(columns).to_struct("key")


# --- rows ------------------------------------------------------------------------------------------------------------


def _mix(number: int) -> int:
    number = number * _FIRST & _ALL
    return (number ^ number >> 32) * _SECOND & _ALL


def _hashing(type_: types.Type) -> Hashing:
    match type_:
        case types.Nullable(of=of):
            return _optional(_hashing(of))
        case types.Float():
            return _of_float
        case types.String() | types.Enumeration():
            return lambda key: _mix(zlib.crc32(cast("str", key).encode("utf-8", "surrogatepass")))
        case types.Bytes():
            return lambda key: _mix(zlib.crc32(cast("bytes", key)))
        case types.Null():
            return lambda key: _mix(_NULL)
        case types.Struct(fields=fields) if fields:
            return _of_fields([_hashing(field.type) for field in fields])
        case types.Bool() | types.Int() | types.Int32() | types.Timestamp() | types.Date() | types.Duration():
            return lambda key: _mix(cast("int", key) & _ALL)
        case _:  # anything else by its text
            return _of_text(type_)


def _optional(hashed: Hashing) -> Hashing:
    return lambda key: _mix(_NULL) if key is None else hashed(key)


def _of_float(key: object) -> int:
    number = cast("float", key)
    if math.isnan(number):
        return _mix(_NAN)
    return _mix(int.from_bytes(struct.pack("<d", number + 0.0), "little"))


def _of_fields(fields: Sequence[Hashing]) -> Hashing:
    def hashed(key: object) -> int:
        number = _SEED
        for of_field, part in zip(fields, cast("tuple[object, ...]", key), strict=True):
            number = _mix(number ^ of_field(part))
        return number

    return hashed


def _of_text(type_: types.Type) -> Hashing:
    """By the text of the value that stands for all that are equal to it."""
    identity, value, text = identity_of(type_), value_of(type_), encoder(type_)

    def hashed(key: object) -> int:
        same = identity(key) if identity is not None else key
        written = text(value(same) if value is not None else same)
        return _mix(zlib.crc32(written.encode("utf-8", "surrogatepass")))

    return hashed


# --- columns ---------------------------------------------------------------------------------------------------------


def _column(keys: pl.Series, type_: types.Type) -> pl.Series:
    """The hashes of a column of keys, nulls among them."""
    plain = types.strip(type_)
    match plain:
        case types.Struct(fields=fields) if fields:
            hashed = pl.repeat(_SEED, len(keys), dtype=pl.UInt64, eager=True)
            for field in fields:
                hashed = _mixed(hashed ^ _column(keys.struct.field(field.name), field.type))
        case types.Null():
            return pl.repeat(_mix(_NULL), len(keys), dtype=pl.UInt64, eager=True)
        case types.String() | types.Enumeration() | types.Bytes():
            hashed = _mixed(pl.Series(crc32_of(keys.cast(pl.Binary).fill_null(b"")).astype(np.uint64)))
        case types.Float():
            hashed = _mixed(_bits(keys))
        case _ if isinstance(plain, _WHOLE):
            hashed = _mixed(keys.cast(pl.Int64).fill_null(0).reinterpret(signed=False))
        case _:  # rare as a key: one by one
            optional = types.as_nullable(plain)  # the fields of a struct that is null are, whatever their type says
            return pl.Series(list(map(_hashing(optional), values(keys, optional))), dtype=pl.UInt64)
    missing = keys.is_null()
    return hashed.set(missing, _mix(_NULL)) if missing.any() else hashed


def _mixed(numbers: pl.Series) -> pl.Series:
    numbers = numbers * _FIRST  # which wraps
    return (numbers ^ numbers // _HALF) * _SECOND


def _bits(keys: pl.Series) -> pl.Series:
    plain = keys.fill_null(0.0)
    plain = plain.set(plain == 0.0, 0.0)  # Polars adds no zero, which would take the sign of another
    bits = pl.Series(values=cast("Any", plain.to_arrow()).view(pa.uint64()), dtype=pl.UInt64)
    nan = plain.is_nan()
    return bits.set(nan, _NAN) if nan.any() else bits
