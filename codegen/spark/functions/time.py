"""Time as a job writes it."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.spark.functions.emitting import Emit, Writer, plain
from ghcm.codegen.spark.text import quote
from ghcm.expr import Call
from ghcm.types import Date, Float, String, Timestamp, Type, strip
from ghcm.values.timestamps import (
    DATE_UNITS,
    ISO_DATE,
    ISO_TIMESTAMP,
    Directive,
    Layout,
    layout_of,
    pieces_of,
)


def _kind(call: Call) -> Type:
    return strip(call.arguments[0].type)


def _text(call: Call, place: int) -> str:
    value = constant(call.arguments[place])
    assert isinstance(value, str), "the lowering takes constants only"
    return value


def _zone(call: Call, place: int) -> list[str]:
    """The time zone as an argument of a helper, unless it is UTC."""
    named = place < len(call.arguments) and _text(call, place) != "UTC"
    return [f"zone={quote(_text(call, place))}"] if named else []


def _first(writer: Writer, call: Call) -> str:
    """The first argument; a timestamp as microseconds."""
    text = writer.emit(call.arguments[0])
    return writer.call("micros", text) if isinstance(_kind(call), Timestamp) else text


def _part(name: str) -> Emit:
    def emit(writer: Writer, call: Call) -> str:
        if isinstance(_kind(call), Date):
            return writer.call("part_of_date", writer.emit(call.arguments[0]), quote(name))
        return writer.call("part_of_time", _first(writer, call), quote(name), *_zone(call, 1))

    return emit


def _truncate_to(writer: Writer, call: Call) -> str:
    unit = _text(call, 1)
    if isinstance(_kind(call), Date):
        return writer.call("date_start", writer.emit(call.arguments[0]), quote(unit))
    name = "day_start" if unit in DATE_UNITS else "clock_start"
    return writer.call(name, _first(writer, call), quote(unit), *_zone(call, 2))


def _add_months(writer: Writer, call: Call) -> str:
    name = "months_after_date" if isinstance(_kind(call), Date) else "months_after"
    return writer.call(name, _first(writer, call), writer.emit(call.arguments[1]))


def _timestamp_of(writer: Writer, call: Call) -> str:
    return writer.call("timestamp_of", *map(writer.emit, call.arguments[:6]), *_zone(call, 6))


def _of_number(of_float: str, of_int: str) -> Emit:
    def emit(writer: Writer, call: Call) -> str:
        name = of_float if isinstance(_kind(call), Float) else of_int
        return writer.call(name, writer.emit(call.arguments[0]))

    return emit


def _on_micros(name: str) -> Emit:
    return lambda writer, call: writer.call(name, _first(writer, call))


def _to_date(writer: Writer, call: Call) -> str:
    if isinstance(_kind(call), String):
        return writer.call("read_date", writer.emit(call.arguments[0]), *_layout(ISO_DATE))
    return writer.call("day_at", _first(writer, call), *_zone(call, 1))


def _layout(layout: Layout) -> list[str]:
    return [quote(layout.regex), quote("".join(layout.fields))]


def _to_timestamp(writer: Writer, call: Call) -> str:
    text = writer.emit(call.arguments[0])
    if isinstance(_kind(call), String):
        return writer.call("read_time", text, *_layout(ISO_TIMESTAMP))
    return writer.call("date_midnight", text, *_zone(call, 1))


def _parse_time(writer: Writer, call: Call) -> str:
    found = writer.emit(call.arguments[0])
    return writer.call("read_time", found, *_layout(layout_of(_text(call, 1))), *_zone(call, 2))


def _format_time(writer: Writer, call: Call) -> str:
    pieces = [
        f"(True, {quote(piece.letter)})" if isinstance(piece, Directive) else f"(False, {quote(piece)})"
        for piece in pieces_of(_text(call, 1))
    ]
    listed = f"[{', '.join(pieces)}]"
    if isinstance(_kind(call), Date):
        return writer.call("write_date", writer.emit(call.arguments[0]), listed)
    return writer.call("write_time", _first(writer, call), listed, *_zone(call, 2))


EMITTERS: dict[str, Emit] = {
    "truncate": plain("truncate"),
    "truncate_to": _truncate_to,
    "add_months": _add_months,
    "add_days": plain("days_after"),
    "days_between": plain("days_between"),
    "date_of": plain("date_of"),
    "timestamp_of": _timestamp_of,
    **{
        name: _part(name)
        for name in (
            *("year", "quarter", "month", "week", "week_year", "day", "day_of_week", "day_of_year"),
            *("hour", "minute", "second", "microsecond"),
        )
    },
    "to_micros": _first,
    "from_micros": plain("from_micros"),
    "to_millis": _on_micros("whole_millis"),
    "from_millis": plain("from_millis"),
    "to_seconds": _on_micros("float_seconds"),
    "from_seconds": _of_number("moment_of_float", "moment_of_seconds"),
    "to_duration": _of_number("duration_of_float", "duration_of_seconds"),
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "parse_time": _parse_time,
    "format_time": _format_time,
}
