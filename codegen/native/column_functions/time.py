"""Time as Polars."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.column_functions.emitting import (
    Emit,
    Scope,
    arguments_of,
    as_kind,
    counted,
    helper,
    kind_of,
    masks_of,
    with_masks,
)
from ghcm.codegen.native.column_text import ATOM, COMPARE, PRODUCT, SUM, Column, bare_text
from ghcm.expr import Call
from ghcm.types import Date, Float, String, Timestamp, Type, strip
from ghcm.values.timestamps import DATE_UNITS


def _text(expr: Call, place: int) -> Column:
    """A constant text as an argument of a helper."""
    value = constant(expr.arguments[place])
    assert isinstance(value, str), "the lowering takes constants only"
    return Column(bare_text(value))


def _zone(expr: Call, place: int) -> list[Column]:
    """The time zone as an argument of a helper, unless it is UTC."""
    if place >= len(expr.arguments) or constant(expr.arguments[place]) == "UTC":
        return []
    return [_text(expr, place)]


def _first(scope: Scope, expr: Call) -> tuple[Column, Column]:
    """The first argument, microseconds where it is a time; and the same with its mask."""
    found = scope.value(expr.arguments[0])
    return counted(found, kind_of(expr)), found


def _truncate(scope: Scope, expr: Call) -> Column:
    found = arguments_of(scope, expr)
    counts = [counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
    return with_masks(
        as_kind(Timestamp(), helper("time.truncate", *counts)), masks_of(found), helper("time.truncate_fails", *counts)
    )


def _to_micros(scope: Scope, expr: Call) -> Column:
    count, found = _first(scope, expr)
    return with_masks(count, found.fails)


def _from_micros(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return with_masks(as_kind(Timestamp(), found), found.fails)


def _made(kind: Type, name: str, fails: str, found: Column, *arguments: Column) -> Column:
    """A value of a kind from a helper, its mask from another with the same arguments."""
    value = as_kind(kind, helper(f"time.{name}", *arguments))
    return with_masks(value, found.fails, helper(f"time.{fails}", *arguments))


def _part(path: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        count, found = _first(scope, expr)
        if isinstance(kind_of(expr), Date):
            value, fails = helper("time.local_date", count), helper("time.date_outside", count)
        else:
            zone = _zone(expr, 1)
            value, fails = helper("time.local", count, *zone), helper("time.outside", count, *zone)
        return with_masks(Column(f"{value.text}.dt.{path}().cast(pl.Int64)"), found.fails, fails)

    return emit


def _truncate_to(scope: Scope, expr: Call) -> Column:
    count, found = _first(scope, expr)
    unit = _text(expr, 1)
    if isinstance(kind_of(expr), Date):
        value, fails = helper("time.date_start", count, unit), helper("time.date_outside", count)
        return with_masks(value, found.fails, fails)
    name = "day_start" if constant(expr.arguments[1]) in DATE_UNITS else "clock_start"
    return _made(Timestamp(), name, f"{name}_fails", found, count, unit, *_zone(expr, 2))


def _add_months(scope: Scope, expr: Call) -> Column:
    count, found = _first(scope, expr)
    months = scope.value(expr.arguments[1])
    name = "add_months_to_date" if isinstance(kind_of(expr), Date) else "add_months"
    made = _made(kind_of(expr), name, f"{name}_fails", found, count, months)
    return with_masks(made, made.fails, months.fails)


def _by_number(kind: Type, name: str, zone: int | None = None) -> Emit:
    """A helper of numbers or dates, whose mask is another of the same arguments."""

    def emit(scope: Scope, expr: Call) -> Column:
        found = arguments_of(scope, expr)[:zone]
        around = [] if zone is None else _zone(expr, zone)
        return _made(kind, name, f"{name}_fails", Column("", fails=masks_of(found)), *found, *around)

    return emit


def _days_between(scope: Scope, expr: Call) -> Column:
    start, end = arguments_of(scope, expr)
    days = [f"{each.at(ATOM)}.cast(pl.Int32).cast(pl.Int64)" for each in (end, start)]
    return Column(" - ".join(days), SUM, masks_of([start, end]))


def _to_millis(scope: Scope, expr: Call) -> Column:
    count, found = _first(scope, expr)
    return Column(f"{count.at(PRODUCT)} // 1000", PRODUCT, found.fails)


def _to_seconds(scope: Scope, expr: Call) -> Column:
    count, found = _first(scope, expr)
    floats = Column(f"{count.at(ATOM)}.cast(pl.Float64)")
    return with_masks(helper("arithmetic.divided", floats, Column("1_000_000.0")), found.fails)


def _times(found: Column, size: int) -> Column:
    return Column(f"{found.at(PRODUCT)} * {size:_}", PRODUCT)


def _from_millis(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    fails = helper("time.whole_fails", found, Column("1_000"))
    return with_masks(as_kind(Timestamp(), _times(found, 1000)), found.fails, fails)


def _of_seconds(of_float: str, of_int: str, *more: Column) -> Emit:
    """A time from seconds; the masks of floats and of ints."""

    def emit(scope: Scope, expr: Call) -> Column:
        found = scope.value(expr.arguments[0])
        if isinstance(kind_of(expr), Float):
            value, fails = helper("time.float_seconds", found), helper(f"time.{of_float}", found)
        else:
            value, fails = _times(found, 1_000_000), helper(f"time.{of_int}", found, *more)
        return with_masks(as_kind(strip(expr.type), value), found.fails, fails)

    return emit


def _parsed(kind: Type, found: Column, made: Column) -> Column:
    """What is read, and that it is null for a text."""
    fails = Column(f"{found.at(ATOM)}.is_not_null() & {made.at(ATOM)}.is_null()", COMPARE)
    return with_masks(as_kind(kind, made), found.fails, Column(f"({fails.text})"))


def _to_date(scope: Scope, expr: Call) -> Column:
    count, found = _first(scope, expr)
    if isinstance(kind_of(expr), String):
        return _parsed(Date(), found, helper("time.parse_date", found))
    zone = _zone(expr, 1)
    return with_masks(helper("time.day_at", count, *zone), found.fails, helper("time.outside", count, *zone))


def _to_timestamp(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    if isinstance(kind_of(expr), String):
        return _parsed(Timestamp(), found, helper("time.parse", found))
    return _made(Timestamp(), "date_to_timestamp", "date_to_timestamp_fails", found, found, *_zone(expr, 1))


def _parse_time(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return _parsed(Timestamp(), found, helper("time.parse", found, _text(expr, 1), *_zone(expr, 2)))


def _format_time(scope: Scope, expr: Call) -> Column:
    count, found = _first(scope, expr)
    if isinstance(kind_of(expr), Date):
        value, fails = helper("time.format_date", count, _text(expr, 1)), helper("time.date_outside", count)
    else:
        zone = _zone(expr, 2)
        value, fails = helper("time.format_time", count, _text(expr, 1), *zone), helper("time.outside", count, *zone)
    return with_masks(value, found.fails, fails)


EMITTERS: dict[str, Emit] = {
    "truncate": _truncate,
    "truncate_to": _truncate_to,
    "add_months": _add_months,
    "add_days": _by_number(Date(), "add_days"),
    "days_between": _days_between,
    "date_of": _by_number(Date(), "date_of"),
    "timestamp_of": _by_number(Timestamp(), "timestamp_of", 6),
    "year": _part("year"),
    "quarter": _part("quarter"),
    "month": _part("month"),
    "week": _part("week"),
    "week_year": _part("iso_year"),
    "day": _part("day"),
    "day_of_week": _part("weekday"),
    "day_of_year": _part("ordinal_day"),
    "hour": _part("hour"),
    "minute": _part("minute"),
    "second": _part("second"),
    "microsecond": _part("microsecond"),
    "to_micros": _to_micros,
    "from_micros": _from_micros,
    "to_millis": _to_millis,
    "from_millis": _from_millis,
    "to_seconds": _to_seconds,
    "from_seconds": _of_seconds("float_timestamp_fails", "whole_fails", Column("1_000_000")),
    "to_duration": _of_seconds("float_seconds_fails", "seconds_fails"),
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "parse_time": _parse_time,
    "format_time": _format_time,
}
