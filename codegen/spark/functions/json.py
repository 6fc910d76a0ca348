"""JSON texts as SQL: Spark takes malformed ones for missing, so Python reads them."""

from __future__ import annotations

import json
from collections.abc import Callable

from ghcm.codegen.spark.functions.emitting import Emit, Writer, constant_text
from ghcm.codegen.spark.library.sql import text
from ghcm.codegen.spark.sql import Checked, partial, pure, python_form, spark_form
from ghcm.expr import Call
from ghcm.spg.notation.types import parse_type
from ghcm.values.texts import parse_path


def json_get(a: Checked, path: str) -> Checked:
    """The text of what stands at a path."""
    return at_path(a, path, "value", "get({found}, 1)")


def json_string(a: Checked, path: str) -> Checked:
    """The string at a path."""
    return at_path(a, path, "string", "get({found}, 1)")


def json_int(a: Checked, path: str) -> Checked:
    """The whole number at a path."""
    return at_path(a, path, "whole number", "try_cast(get({found}, 1) AS bigint)")


def json_float(a: Checked, path: str) -> Checked:
    """The number at a path."""
    return at_path(a, path, "number", "try_cast(get({found}, 1) AS double)")


def json_bool(a: Checked, path: str) -> Checked:
    """True or false at a path."""
    return at_path(a, path, "bool", "(get({found}, 1) = 'true')")


def json_list(a: Checked, path: str) -> Checked:
    """The items of the array at a path."""
    items = "CASE WHEN array_size({found}) > 1 THEN slice({found}, 3, array_size({found})) END"
    return at_path(a, path, "array", items)


def at_path(a: Checked, path: str, kind: str, value: str) -> Checked:
    """What stands at a path, and why it is not of that kind."""
    found = f"json_at({a}, {text(path)}, {text(kind)})"
    return partial(value.format(found=found), (a,), f"get({found}, 0)")


def _read(write: Callable[[Checked, str], Checked]) -> Emit:
    def emit(writer: Writer, call: Call) -> Checked:
        steps = parse_path(constant_text(call, 1))
        path = json.dumps(steps, ensure_ascii=False, separators=(",", ":"))
        return write(writer.emit(call.arguments[0]), path)

    return emit


def _to_json(writer: Writer, call: Call) -> Checked:
    """A value as compact JSON text."""
    (argument,) = call.arguments
    value = writer.emit(argument)
    return pure(f"{writer.json_function('written', argument.type)}({python_form(value.value, argument.type)})", value)


def _json_to(writer: Writer, call: Call) -> Checked:
    """The value of a type that a JSON text holds."""
    value, type_ = writer.emit(call.arguments[0]), parse_type(constant_text(call, 2))
    found = f"{writer.json_function('read', type_)}({value})"
    return partial(spark_form(f"{found}.value", type_), (value,), f"{found}.error")


EMITTERS: dict[str, Emit] = {
    "json_to": _json_to,
    "to_json": _to_json,
    "json_get": _read(json_get),
    "json_string": _read(json_string),
    "json_int": _read(json_int),
    "json_float": _read(json_float),
    "json_bool": _read(json_bool),
    "json_list": _read(json_list),
}
