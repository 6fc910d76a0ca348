"""Enums from the source to the reply: texts that are no values are dead letters, everywhere the same ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.runtime.contract import Form
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.sources.files import FilesSource
from ghcm.source import Source
from ghcm.spg.connectors import Files
from ghcm.spg.graph import Program
from ghcm.spg.ops import Source as From
from ghcm.spg.reference import run
from ghcm.verification.compare import compare_rows
from tests.conformance.spark_runs import agree
from tests.unit.runtime.formats.decoding import drain
from tests.unit.runtime.operators.harness import run_unit

PROGRAM = """program enums

enum Sign { plus, "-", "", "\u00e9", "quo\\"te" }

record Row { n: int, sign: Sign, maybe: Sign?, many: list<Sign>, by: map<Sign, int>, text: string }

responsive batch u {
  files("rows.jsonl", format = json)
    .as(Row)
    .map(r => {
      n: r.n,
      sign: r.sign,
      maybe: r.maybe,
      many: r.many,
      by: has_key(r.by, Sign.plus),
      of: keys(r.by),
      minus: r.by.get("-"),
      number: match r.sign { plus => 1, "-" or "" => 2, "\u00e9" => 3, "quo\\"te" => 4 },
      some: r.maybe ?? "plus",
      any: r.maybe ?? "none",
      least: min(r.sign, Sign.plus),
      after: r.sign > "plus",
      within: ["plus", "-"].contains(r.sign),
      size: r.sign.length(),
      read: try(to_enum(r.text, Sign)),
      strict: to_enum(r.text, Sign)
    })
    .sort(r => (r.sign, r.n))
    .reply()
}
"""
ROWS = r"""{"n": 1, "sign": "plus", "maybe": "-", "many": ["", "plus"], "by": {"plus": 1, "-": 2}, "text": "plus"}
{"n": 2, "sign": "-", "maybe": null, "many": [], "by": {}, "text": ""}
{"n": 3, "sign": "\u00e9", "many": ["\u00e9"], "by": {"\u00e9": 1}, "text": "\u00e9"}
{"n": 4, "sign": "e\u0301", "many": [], "by": {}, "text": "plus"}
{"n": 5, "sign": "Plus", "many": [], "by": {}, "text": "plus"}
{"n": 6, "sign": "plus ", "many": [], "by": {}, "text": "plus"}
{"n": 7, "sign": null, "many": [], "by": {}, "text": "plus"}
{"n": 8, "sign": "", "maybe": "other", "many": [], "by": {}, "text": "plus"}
{"n": 9, "sign": "", "many": ["other"], "by": {}, "text": "plus"}
{"n": 10, "sign": "", "many": [null], "by": {}, "text": "plus"}
{"n": 11, "sign": "", "many": [], "by": {"other": 1}, "text": "plus"}
{"n": 12, "sign": 1, "many": [], "by": {}, "text": "plus"}
{"n": 13, "sign": "quo\"te", "maybe": "", "many": [], "by": {}, "text": "quo\"te"}
{"n": 14, "sign": "", "maybe": "", "many": [], "by": {}, "text": "nothing"}
{"n": 1, "sign": "plus", "maybe": "-", "many": ["", "plus"], "by": {"plus": 1, "-": 2}, "text": "plus"}
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "rows.jsonl").write_text(ROWS, encoding="utf-8")
    return lower(parse(Source("enums.istream", PROGRAM)))


def test_only_values_of_the_enum_come_in(program: Program, tmp_path: Path) -> None:
    found = run(program, "u", base=tmp_path)
    assert [row[0] for row in found.reply or [] if isinstance(row, tuple)] == [2, 1, 1, 13, 3]
    assert [letter.reason.value for letter in found.dead] == ["bad_record"] * 9 + ["bad_cast"]


@pytest.mark.parametrize("form", ["rows", "columns"])
def test_native_forms_agree(form: Form, program: Program, tmp_path: Path) -> None:
    expected = run(program, "u", base=tmp_path)
    source = program.unit("u").tasks[0]
    assert isinstance(source.op, From) and isinstance(source.op.connector, Files)
    rows, unread = drain(FilesSource(source.op.connector, source.schema, source.id, tmp_path))
    batches = [Batch.from_rows(source.schema, rows[start : start + 3]) for start in range(0, len(rows), 3)]
    found = run_unit(program, program.unit("u"), form, inputs={source.id: batches})
    element = program.unit("u").tasks[-1].collection.element
    assert compare_rows(expected.reply or [], found.reply or [], element, ordered=True) == []
    dead = sorted([text for _, text in unread] + [letter.input for letter in found.letters])
    assert dead == sorted(letter.input for letter in expected.dead)


@pytest.mark.slow
def test_spark_agrees(program: Program, spark: SparkSession, tmp_path: Path) -> None:
    agree(spark, program, "u", tmp_path)
    letters = [path.read_text(encoding="utf-8") for path in tmp_path.glob("dead-*/part-*")]
    details = " ".join(str(json.loads(line)["detail"]) for line in "".join(letters).splitlines())
    assert 'field "sign": expected one of plus, "-", "", "\u00e9", "quo\\"te", found "Plus"' in details
