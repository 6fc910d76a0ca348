"""Generated files of lines, JSON, CSV and text, that hold records and what is nearly one; unions too."""

from __future__ import annotations

import json
import math
from typing import Literal as Choice
from typing import TypeAlias, cast

from hypothesis import strategies as st

from ghcm.types import (
    Bool,
    Date,
    Duration,
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
    strip,
)
from ghcm.values import own_writer, to_json
from tests.laws.spg_values import ENUMS, unions, values_of

__all__ = ["FLAT_TYPES", "Lines", "raw_files"]

Lines: TypeAlias = Choice["json", "csv", "text"]
"""Formats of lines that have an encoding of their own here; `cell_files` has more."""
FLAT_TYPES: tuple[Type, ...] = (
    Int(), String(), Float(), Bool(), Timestamp(), Date(), Int32(), Duration(), *ENUMS[:3],
)  # fmt: skip
_JSON_TYPES: tuple[Type, ...] = (
    *FLAT_TYPES, List(Int()), Struct((Field("x", Int()),)), List(Nullable(ENUMS[0])), Map(String(), Int()),
)  # fmt: skip
_JUNK: tuple[object, ...] = (
    "",
    None,
    "nothing",
    [1],
    1.5,
    True,
    2**63,
    {},
    -1,
    "2026-01-02",
    "1e400",
    "NaN",
    "12",
    "tcp",
)
_BROKEN = (b"", b"\xff", b"junk", b'"open', b"{", b'{"a": NaN}', b" ")


@st.composite
def raw_files(draw: st.DrawFn, format_name: Lines) -> tuple[Struct, dict[str, bytes]]:
    """What is declared about files "in/*" and the bytes of these files by name."""
    head: list[bytes] = []
    match format_name:
        case "text":
            element = Struct((Field("text", String()), Field("file", String()), Field("number", Int())), "Line")
            line = st.text("ab é😀\t", max_size=5).map(str.encode)
        case "json":
            element = _raw_record(draw, _JSON_TYPES)
            line = _json_union(element) if element.variants else _json_line(element)
        case "csv":
            element = _raw_record(draw, FLAT_TYPES)
            line = _csv_line(element)
            head = [_csv([field.path or field.name for field in element.fields])]
    lines = st.lists(st.one_of(line, line, line, line, st.sampled_from(_BROKEN)), max_size=8)
    files: dict[str, bytes] = {}
    for name in ("in/a", "in/b")[: draw(st.integers(1, 2))]:
        end = draw(st.sampled_from([b"\n", b"\r\n"]))
        files[name] = end.join([*head, *draw(lines)]) + draw(st.sampled_from([b"", end]))
    return element, files


def _raw_record(draw: st.DrawFn, of: tuple[Type, ...]) -> Struct:
    if draw(st.integers(0, 3)) == 0:
        return draw(unions(of=of))
    fields: list[Field] = []
    for name in "abcd"[: draw(st.integers(1, 4))]:
        union = of is _JSON_TYPES and draw(st.integers(0, 5)) == 0
        type_ = draw(unions(of=of)) if union else draw(st.sampled_from(of))
        path = draw(st.sampled_from([None, f"path.{name}", f"in {name}"]))
        fields.append(Field(name, Nullable(type_) if draw(st.booleans()) else type_, path))
    return Struct(tuple(fields), "Raw")


@st.composite
def _json_line(draw: st.DrawFn, element: Struct) -> bytes:
    data: dict[str, object] = {}
    for field in element.fields:
        path = field.path or field.name
        value = draw(st.sampled_from(_JUNK)) if draw(st.integers(0, 7)) == 0 else draw(_json_value(field.type))
        if value is None and draw(st.booleans()):
            continue
        if path.startswith("path.") and draw(st.booleans()):
            cast("dict[str, object]", data.setdefault("path", {}))[field.name] = value
        else:
            data[path] = value
    return json.dumps(data, ensure_ascii=draw(st.booleans())).encode()


@st.composite
def _json_union(draw: st.DrawFn, union: Struct) -> bytes:
    """One of the records, mostly with the fields that it has; something is missing, wrong or too much in others."""
    data = cast("dict[str, object]", draw(_json_value(union)))
    match draw(st.integers(0, 9)):
        case 0 if data:
            data.pop(draw(st.sampled_from(sorted(data))))
        case 1:
            data[draw(st.sampled_from(union.names))] = draw(st.sampled_from(_JUNK))
        case 2:
            data[union.names[0]] = draw(st.sampled_from([*_TAGS, *(each.text for each in union.variants)]))
        case _:
            pass
    return json.dumps(data, ensure_ascii=draw(st.booleans())).encode()


_TAGS = ("Login", "LOGIN", "login ", "log o\u0308ut", "none")


@st.composite
def _json_value(draw: st.DrawFn, type_: Type) -> object:
    """A form in which a value of the type may come: a timestamp also as seconds, a float also as a whole number."""
    value = draw(values_of(type_))
    if isinstance(value, float) and not math.isfinite(value):
        return 7
    if isinstance(value, int) and strip(type_) == Timestamp() and draw(st.booleans()):
        return value / 1_000_000
    struct = strip(type_)
    if value is not None and isinstance(struct, Struct) and struct.variants:
        return own_writer(struct)(value) if draw(st.integers(0, 3)) else _without_one(draw, to_json(value, struct))
    return to_json(value, type_)


def _without_one(draw: st.DrawFn, data: object) -> object:
    """A union with all its fields, or one less, which may be one that it has to have."""
    fields = cast("dict[str, object]", data)
    gone = draw(st.sampled_from([None, *fields]))
    return {name: value for name, value in fields.items() if name != gone}


@st.composite
def _csv_line(draw: st.DrawFn, element: Struct) -> bytes:
    cells: list[str] = []
    for field in element.fields:
        value = draw(st.sampled_from(_JUNK)) if draw(st.integers(0, 7)) == 0 else draw(_json_value(field.type))
        cells.append("" if value is None else value if isinstance(value, str) else str(value))
    return _csv(cells[: len(cells) - (draw(st.integers(0, 9)) == 0)])


def _csv(cells: list[str]) -> bytes:
    quoted = ['"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\r\n') else cell for cell in cells]
    return ",".join(quoted).encode()
