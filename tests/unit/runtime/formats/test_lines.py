"""Texts of records: by whole columns they are those that the rows give one by one."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import pytest

from ghcm import types
from ghcm.runtime.data.columns import Row, columns_of
from ghcm.runtime.formats.lines import cells, encoder, header, json_texts
from ghcm.spg.connectors import Format
from ghcm.types import Field, Nullable, Struct, Type
from ghcm.values import cell_writer, compact, writer

TEXTS = ["", " ", "a", 'q"u', "c,s", "t\tab;", "l\nf", "c\r", "\\", "\x00\x1f\x7f", "ü😀", "null", '""', "\u2028"]
LAST_US, LAST_DAY = 253_402_300_799_999_999, 2_932_896
VALUES: dict[Type, list[object]] = {
    types.String(): [*TEXTS],
    types.Enumeration(("a", 'b"')): ["a", 'b"'],
    types.Int(): [0, -1, 2**63 - 1, -(2**63)],
    types.Int32(): [0, 2**31 - 1],
    types.Bool(): [True, False],
    types.Float(): [0.0, -0.0, 1e16, 1e-5, 0.1, 5e-324, 1.7976931348623157e308, 3.0],
    types.Timestamp(): [0, -1, 1, -62_135_596_800_000_000, LAST_US],
    types.Date(): [0, -1, -719_162, LAST_DAY],
    types.Duration(): [0, 1_500_000, -1],
    types.Decimal(5, 2): [Decimal("1.50"), Decimal("-0.01")],
    types.Bytes(): [b"", b"\xff"],
    types.List(types.Int()): [[], [1, 2]],
    Struct((Field("a", types.String()),)): [("x",)],
}
HARD: dict[Type, list[object]] = {
    types.Float(): [1.5, math.nan, math.inf, -math.inf],
    types.Timestamp(): [0, LAST_US + 1, -62_135_596_800_000_001, 2**63 - 1, -(2**63)],
    types.Date(): [0, LAST_DAY + 1, -719_163],
}
CASES = [(type_, values) for table in (VALUES, HARD) for type_, values in table.items()]
CASES += [(Nullable(type_), [None, *values, None]) for type_, values in CASES] + [(types.Null(), [None])]


@pytest.mark.parametrize(("type_", "values"), CASES, ids=str)
def test_columns_give_the_texts_of_values(type_: Type, values: list[object]) -> None:
    column = columns_of([(value,) for value in values], [("c", type_)])["c"]
    assert json_texts(column, type_).to_list() == [compact(writer(type_)(value)) for value in values]
    assert cells(column, type_).to_list() == list(map(cell_writer(type_), values))


@pytest.mark.parametrize("format_", [Format("json"), Format("csv"), Format("csv", "\t"), Format("csv", "|")], ids=str)
def test_frames_give_the_lines_of_rows(format_: Format) -> None:
    fields = [Field(f"f{number}", Nullable(type_)) for number, type_ in enumerate(VALUES)]
    columns = Struct((*fields, Field('na"me', types.Int())))
    rows: list[Row] = [
        (*(None if at % 5 == 4 else values[at % len(values)] for values in VALUES.values()), at) for at in range(30)
    ]
    encode = encoder(format_, columns)
    lines = encode(rows).to_list()
    frame = columns_of(rows, [(field.name, field.type) for field in columns.fields])
    assert encode(frame).to_list() == lines
    assert encode(frame.head(1)).to_list() == lines[:1]
    assert encode(frame.clear()).to_list() == encode([]).to_list() == []
    assert encode(rows * 10).to_list() == lines * 10
    if format_.name == "json":
        assert [json.loads(line)['na"me'] for line in lines] == list(range(30))


def test_a_line_of_csv_is_never_empty_and_names_are_quoted() -> None:
    columns = Struct((Field("a,b", Nullable(types.String())),))
    encode = encoder(Format("csv"), columns)
    rows: list[Row] = [(None,), ("",), ("x",)]
    assert encode(rows).to_list() == ['""', '""', "x"]
    assert encode(columns_of(rows, [("a,b", columns.fields[0].type)])).to_list() == ['""', '""', "x"]
    assert header(columns, ",") == '"a,b"'


def test_of_a_union_only_the_fields_of_the_record_are_written() -> None:
    cases = (("x", ("One",)), ("y", ("Two",)))
    fields = (Field("kind", types.String()), Field("x", Nullable(types.Int())), Field("y", Nullable(types.Int())))
    columns = Struct(fields, cases=cases)
    rows: list[Row] = [("One", 1, None), ("Two", None, 2)]
    frame = columns_of(rows, [(field.name, field.type) for field in fields])
    encode = encoder(Format("json"), columns)
    assert encode(frame).to_list() == encode(rows).to_list() == ['{"kind":"One","x":1}', '{"kind":"Two","y":2}']
    assert encode(rows * 200).to_list() == encode(rows).to_list() * 200


def test_text_is_the_text_itself() -> None:
    columns = Struct((Field("line", types.String()),))
    rows: list[Row] = [(text,) for text in TEXTS]
    encode = encoder(Format("text"), columns)
    assert encode(rows).to_list() == encode(columns_of(rows, [("line", types.String())])).to_list() == TEXTS
