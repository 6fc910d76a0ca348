"""Conversion as SQL."""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_kind, kind, made, plain, same
from ghcm.codegen.spark.library.sql import (
    EXACT_NUMBER,
    REAL_NUMBER,
    WHOLE_NUMBER,
    decimal_parts,
    decimal_text,
    fails,
    is_member,
    matching,
    moment_sql,
    parsed_float,
    when,
)
from ghcm.codegen.spark.sql import Checked, ddl, overflows, partial, pure
from ghcm.expr import Call
from ghcm.types import Date, Decimal, Duration, Enumeration, Float, Int, String, Timestamp, Type, strip


def to_int(a: Checked) -> Checked:
    """A number of 64 bits from one of 32, or from a bool."""
    return pure(f"bigint({a})", a)


def to_float(a: Checked) -> Checked:
    """The nearest double."""
    return pure(f"double({a})", a)


def float_to_int(a: Checked) -> Checked:
    """A float cut towards zero."""
    endless = fails(f"isnan({a}) OR abs({a}) = double('inf')", "bad_cast", "it is no whole number")
    fits = f"{a} >= {-(2.0**63)}D AND {a} < {2.0**63}D"
    big = fails(f"NOT ({fits})", "overflow", "the number does not fit into 64 bits")
    return partial(f"bigint({a})", (a,), endless, big)


def parse_int(a: Checked) -> Checked:
    """The whole number that a text of an optional sign and ASCII digits holds."""
    value = f"try_cast({a} AS bigint)"
    big = fails(f"{a} IS NOT NULL AND {value} IS NULL", "overflow", "the number does not fit into 64 bits")
    return partial(value, (a,), no_number(a, WHOLE_NUMBER, "int"), big)


def parse_float(a: Checked) -> Checked:
    """The float that a text holds."""
    return partial(parsed_float(a.value), (a,), no_number(a, REAL_NUMBER, "float"))


def no_number(a: Checked, form: str, type_: str) -> str:
    """The error where a text has not the form of a number."""
    detail = f"concat('bad_cast: \"', substring({a}, 1, 40), '\" is no {type_}')"
    return when(f"NOT {matching(a.value, form)}", detail)


def to_enum(a: Checked, values: Sequence[str]) -> Checked:
    """A text that is a value of an enum."""
    wrong = f"concat('bad_cast: \"', substring({a}, 1, 40), '\" is no value of the enum')"
    return partial(a.value, (a,), when(f"NOT {is_member(a.value, values)}", wrong))


def plain_text(a: Checked) -> Checked:
    """An int, bool or string as text."""
    return pure(f"string({a})", a)


def float_text(a: Checked) -> Checked:
    """A float as Python writes it."""
    return pure(f"float_repr({a})", a)


def timestamp_text(a: Checked) -> Checked:
    """A timestamp as 2026-01-02T03:04:05.000006Z."""
    return pure(moment_sql(a.value), a)


def date_text(a: Checked) -> Checked:
    """A date as 2026-01-02."""
    return pure(f"string({a})", a)


def seconds_sql(value: str) -> str:
    """A duration (microseconds) as an exact number of seconds."""
    return f"(cast({value} AS decimal(19, 0)) * cast('0.000001' AS decimal(6, 6)))"


def duration_text(a: Checked) -> Checked:
    """A duration (microseconds) in seconds with six decimals."""
    return pure(f"string({seconds_sql(a.value)})", a)


def decimal_to_int(a: Checked) -> Checked:
    """A decimal cut towards zero."""
    value = f"try_cast({a} AS bigint)"
    return partial(value, (a,), overflows(value, a))


def int_to_decimal(a: Checked, of: Type, type_: Decimal) -> Checked:
    """A whole number with so many digits behind the point."""
    value = f"try_cast({a} AS {ddl(type_)})"
    if type_.precision - type_.scale >= 19:
        return pure(value, a)
    return partial(value, (a,), too_wide(a.value, value))


def too_wide(given: str, value: str) -> str:
    """The error where a cast gave nothing for something."""
    return fails(f"{given} IS NOT NULL AND {value} IS NULL", "overflow", "too many digits ahead of the point")


def decimal_to_decimal(a: Checked, of: Decimal, type_: Decimal) -> Checked:
    """The same number with other digits; lost ones fail before those that do not fit."""
    whole, least = type_.precision - type_.scale, of.precision - of.scale
    if type_.scale >= of.scale:
        value = f"try_cast({a} AS {ddl(type_)})"
        return pure(value, a) if whole >= least else partial(value, (a,), too_wide(a.value, value))
    rounded = f"cast({a} AS decimal({least + 1 + type_.scale}, {type_.scale}))"
    lost = f"NOT coalesce(try_cast({rounded} AS {ddl(of)}) = {a}, {a} IS NULL)"
    value = f"try_cast({rounded} AS {ddl(type_)})"
    return partial(value, (a,), fails(lost, "bad_cast", "too many digits behind the point"), too_wide(a.value, value))


def parse_decimal(a: Checked, of: Type, type_: Decimal) -> Checked:
    """The decimal that a text holds; lost digits fail before those that do not fit."""
    value, lost, wide = decimal_parts(a.value, type_.precision, type_.scale)
    return partial(
        value,
        (a,),
        no_number(a, EXACT_NUMBER, "decimal"),
        fails(lost, "bad_cast", "too many digits behind the point"),
        fails(wide, "overflow", "too many digits ahead of the point"),
    )


def _to_enum(writer: Writer, call: Call) -> Checked:
    enum = strip(call.type)
    assert isinstance(enum, Enumeration)
    return to_enum(writer.emit(call.arguments[0]), enum.values)


def _decimal_as_text(writer: Writer, call: Call) -> Checked:
    type_ = kind(call)
    assert isinstance(type_, Decimal)
    of = writer.emit(call.arguments[0])
    return pure(decimal_text(of.value, type_.scale), of)


_TO_INT: dict[type[Type], Emit] = {
    Float: plain(float_to_int),
    String: plain(parse_int),
    Decimal: plain(decimal_to_int),
    Int: same,
}
_TO_STRING: dict[type[Type], Emit] = {
    Float: plain(float_text),
    Timestamp: plain(timestamp_text),
    Date: plain(date_text),
    Duration: plain(duration_text),
    Decimal: _decimal_as_text,
}

EMITTERS: dict[str, Emit] = {
    "to_int": by_kind(_TO_INT, plain(to_int)),
    "to_float": by_kind({String: plain(parse_float)}, plain(to_float)),
    "to_enum": _to_enum,
    "to_decimal": by_kind({String: made(parse_decimal), Decimal: made(decimal_to_decimal)}, made(int_to_decimal)),
    "to_string": by_kind(_TO_STRING, plain(plain_text)),
}
