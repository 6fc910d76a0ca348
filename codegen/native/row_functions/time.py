"""Time as Python."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.row_functions.emitting import Emit, Scope, call_of, helper, kind_of, same
from ghcm.codegen.native.row_text import PRODUCT, SUM, UNARY, Code, quoted
from ghcm.expr import Call
from ghcm.types import Date, Float, String
from ghcm.values.timestamps import DATE_UNITS


def _zone(expr: Call, place: int) -> list[Code]:
    """The time zone as an argument of a helper, unless it is UTC."""
    zone = constant(expr.arguments[place]) if place < len(expr.arguments) else "UTC"
    return [] if zone == "UTC" else [Code(quoted(str(zone)))]


def _part(path: str) -> Emit:
    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        if isinstance(kind_of(expr), Date):
            return Code(f"{helper('time.local_date', codes[0]).text}.{path}")
        return Code(f"{helper('time.local', codes[0], *_zone(expr, 1)).text}.{path}")

    return emit


def _quarter(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return Code(f"({_part('month')(scope, expr, codes).at(SUM)} + 2) // 3", PRODUCT)


def _truncate_to(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    if isinstance(kind_of(expr), Date):
        return helper("time.date_start", *codes)
    name = "day_start" if constant(expr.arguments[1]) in DATE_UNITS else "clock_start"
    return helper(f"time.{name}", *codes[:2], *_zone(expr, 2))


def _of_kind(kind: type, name: str, other: str) -> Emit:
    """One helper for arguments of a kind, another for others."""
    return lambda scope, expr, codes: helper(f"time.{name if isinstance(kind_of(expr), kind) else other}", *codes)


def _to_date(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    name = "to_date" if isinstance(kind_of(expr), String) else "day_at"
    return helper(f"time.{name}", codes[0], *_zone(expr, 1))


def _to_timestamp(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    name = "to_timestamp" if isinstance(kind_of(expr), String) else "date_to_timestamp"
    return helper(f"time.{name}", codes[0], *_zone(expr, 1))


def _by_pattern(scope: Scope, expr: Call, codes: list[Code], name: str, *more: Code) -> Code:
    made = helper(f"time.{name}", Code(quoted(str(constant(expr.arguments[1])))), *_zone(expr, 2), *more)
    return Code(f"{scope.module.constant(f'_{name}', made.text)}({codes[0].inner})")


def _parse_time(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return _by_pattern(scope, expr, codes, "reader")


def _format_time(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    of_date = [Code("of_date=True")] if isinstance(kind_of(expr), Date) else []
    return _by_pattern(scope, expr, codes, "writer", *of_date)


EMITTERS: dict[str, Emit] = {
    "truncate": call_of("time.truncate"),
    "truncate_to": _truncate_to,
    "add_months": _of_kind(Date, "add_months_to_date", "add_months"),
    "add_days": call_of("time.add_days"),
    "days_between": lambda scope, expr, codes: Code(f"-{codes[0].at(UNARY)} + {codes[1].at(PRODUCT)}", SUM),
    "date_of": call_of("time.date_of"),
    "timestamp_of": lambda scope, expr, codes: helper("time.timestamp_of", *codes[:6], *_zone(expr, 6)),
    "year": _part("year"),
    "quarter": _quarter,
    "month": _part("month"),
    "week": _part("isocalendar().week"),
    "week_year": _part("isocalendar().year"),
    "day": _part("day"),
    "day_of_week": _part("isoweekday()"),
    "day_of_year": _part("timetuple().tm_yday"),
    "hour": _part("hour"),
    "minute": _part("minute"),
    "second": _part("second"),
    "microsecond": _part("microsecond"),
    "to_micros": same,
    "from_micros": same,
    "to_millis": lambda scope, expr, codes: Code(f"{codes[0].at(PRODUCT)} // 1000", PRODUCT),
    "from_millis": call_of("time.from_millis"),
    "to_seconds": lambda scope, expr, codes: Code(f"float({codes[0].inner}) / 1_000_000.0", PRODUCT),
    "from_seconds": _of_kind(Float, "from_seconds_float", "from_seconds"),
    "to_duration": _of_kind(Float, "to_duration_float", "to_duration"),
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "parse_time": _parse_time,
    "format_time": _format_time,
}
