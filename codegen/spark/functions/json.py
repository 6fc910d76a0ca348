"""JSON texts as a job reads them."""

from __future__ import annotations

import json

from ghcm.codegen.spark.functions.emitting import Emit, Writer
from ghcm.codegen.spark.text import quote
from ghcm.expr import Call, Literal
from ghcm.spg.notation.types import parse_type
from ghcm.values.texts import parse_path


def _read(helper: str) -> Emit:
    def emit(writer: Writer, call: Call) -> str:
        path = call.arguments[1]
        steps = parse_path(path.value) if isinstance(path, Literal) and isinstance(path.value, str) else None
        assert steps is not None, "the lowering takes constant paths only"
        written = json.dumps(steps, ensure_ascii=False, separators=(",", ":"))
        return f"{helper}({writer.emit(call.arguments[0])}, {quote(written)})"

    return emit


def _to_json(writer: Writer, call: Call) -> str:
    (value,) = call.arguments
    return writer.call("written_as_json", writer.emit(value), writer.type(value.type))


def _json_to(writer: Writer, call: Call) -> str:
    value, _, spelt = call.arguments
    assert isinstance(spelt, Literal) and isinstance(spelt.value, str), "the lowering writes it"
    return writer.call("json_to", writer.emit(value), writer.type(parse_type(spelt.value)))


EMITTERS: dict[str, Emit] = {
    "json_to": _json_to,
    "to_json": _to_json,
    "json_get": _read("json_get"),
    "json_string": _read("json_string"),
    "json_int": _read("json_int"),
    "json_float": _read("json_float"),
    "json_bool": _read("json_bool"),
    "json_list": _read("json_list"),
}
