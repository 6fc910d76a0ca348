"""Unions from the source to the reply: what is no record of the union is a dead letter, everywhere the same ones."""

from __future__ import annotations

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

DECLARED = """program unions

record Login  { user: string, host: string, score: float?, n: int }
record Logout { user: string, reason: string?, seconds: int, n: int }
record Failed { host: string?, n: int, of: {a: int, b: string?} from "nested" }
record Nothing { n: int }

union Event by kind { login: Login, "log\\u00f6ut": Logout, Failed, "": Nothing }

record Row { n: int, event: Event, many: list<Event?>, maybe: Event? }

function made(n: int, u: string) : Event =
  match n { 1 => Login { user: u, host: "h", score: null, n: n }, 2 => Nothing { n: n },
            _ => Failed { host: u, n: n, of: { a: n, b: null } } }

"""
RECORDS = (
    DECLARED
    + """responsive batch u {
  files("rows.jsonl", format = json)
    .as(Event)
    .map(e => {
      n: e.n,
      kind: e.kind,
      whole: e,
      text: match e {
        Login l => l.user + "@" + l.host + to_string(l.score ?? 0.5),
        Logout o => o.reason ?? o.user,
        Failed => e.host ?? to_string(e.of.a),
        Nothing => "nothing"
      },
      number: if e is Login then e.host.length() else if e is Logout then 10 // e.seconds else -1,
      user: match e { Login or Logout => e.user, _ => null },
      other: e is not Login and e is not Nothing,
      new: made(e.n, "x"),
      of_new: match made(e.n, "y") { Login l => l.user, Failed f => f.host, Nothing => null, Logout => "never" },
      rest: if e is Login or e is Nothing then null else match e { Logout => e.seconds, Failed f => f.of.a },
      either: if e is Failed then Nothing { n: e.of.a } else Login { user: "u", host: "v", score: null, n: 0 }
    })
    .sort(r => (r.n, r.kind))
    .reply()
}
"""
)
NARROWED = (
    DECLARED
    + """responsive batch u {
  files("rows.jsonl", format = json)
    .as(Event)
    .filter(e => e is not Nothing and not (e is Failed))
    .map(e => match e { Login l => (l.user, l.n, l), Logout => (e.user, e.n, null) })
    .sort(r => (r._1, r._2))
    .reply()
}
"""
)
NESTED = (
    DECLARED
    + """responsive batch u {
  files("nested.jsonl", format = json)
    .as(Row)
    .map(r => {
      n: r.n,
      kind: r.event.kind,
      seconds: if r.maybe is Logout then r.maybe.seconds else null,
      maybe: match r.maybe { null => "null", Logout o => o.user, Login l => l.user, _ => r.maybe.kind },
      users: r.many.filter(e => e is Login).map(e => if e is Login then e.host else null),
      any: r.many.any(e => e is Nothing),
      new: [made(1, "a"), made(2, "b"), r.event]
    })
    .sort(r => r.n)
    .reply()
}
"""
)
ROWS = """{"kind": "login", "user": "a", "host": "h", "n": 1}
{"kind": "login", "user": "\u00e9\U0001f600", "host": "", "score": 1e-7, "n": 2, "seconds": 7, "reason": "ignored"}
{"kind": "log\u00f6ut", "user": "a", "seconds": 4, "n": 2}
{"kind": "log\u00f6ut", "user": "a", "seconds": 0, "n": 3}
{"kind": "log\u00f6ut", "user": "a", "seconds": 9223372036854775807, "reason": "", "n": 4}
{"kind": "logo\u0308ut", "user": "a", "seconds": 4, "n": 5}
{"kind": "Failed", "nested": {"a": 1, "b": null}, "n": 6}
{"kind": "Failed", "host": "h", "nested": {"a": -1}, "n": 6}
{"kind": "Failed", "host": "h", "n": 7}
{"kind": "Failed", "host": "h", "nested": {"b": "x"}, "n": 7}
{"kind": "", "n": 8}
{"kind": "", "n": null}
{"kind": null, "n": 8}
{"n": 8}
{"kind": "Login", "user": "a", "host": "h", "n": 9}
{"kind": "login", "user": "a", "n": 10}
{"kind": "login", "user": null, "host": "h", "n": 10}
{"kind": "login", "host": null, "n": 10}
{"kind": "login", "user": "a", "host": "h", "n": 11, "seconds": "not an int"}
{"kind": "login", "user": "a", "host": "h", "n": 1}
"""
NESTED_ROWS = """{"n": 1, "event": {"kind": "", "n": 1}, "many": [], "maybe": null}
{"n": 2, "event": {"kind": "", "n": 1}, "many": [null, {"kind": "", "n": 1}], "maybe": {"kind": "", "n": 1}}
{"n": 3, "event": {"kind": "login", "n": 1}, "many": []}
{"n": 4, "event": {"kind": "", "n": 1}, "many": [{"kind": "login", "user": "a", "host": "b", "n": 1}]}
{"n": 5, "event": {"kind": "", "n": 1}, "many": [{"kind": "", "n": 1}, {"kind": "login", "user": "a", "n": 1}]}
{"n": 6, "event": {"kind": "", "n": 1}, "many": [], "maybe": {"kind": "log\u00f6ut", "user": "z", "seconds": 5, "n": 1}}
{"n": 7, "event": {"kind": "", "n": 1}, "many": [], "maybe": {"kind": "log\u00f6ut", "user": "z", "n": 1}}
{"n": 8, "event": {"kind": "no", "n": 1}, "many": []}
"""
PROGRAMS = {"records": RECORDS, "narrowed": NARROWED, "nested": NESTED}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_text(ROWS, encoding="utf-8")
    (tmp_path / "nested.jsonl").write_text(NESTED_ROWS, encoding="utf-8")
    return tmp_path


def program_of(name: str) -> Program:
    return lower(parse(Source("unions.istream", PROGRAMS[name])))


def test_only_records_of_the_union_come_in(folder: Path) -> None:
    found = run(program_of("records"), "u", base=folder)
    assert [row[0] for row in found.reply or [] if isinstance(row, tuple)] == [1, 1, 2, 2, 4, 6, 6, 8, 11]
    assert [letter.reason.value for letter in found.dead].count("bad_record") == 10
    lacking = next(letter for letter in found.dead if letter.detail.endswith(': field "host" of "Login" is missing'))
    line = int(lacking.detail.split(":")[1])
    assert lacking.input == (folder / "rows.jsonl").read_text().split("\n")[line - 1]
    assert [row[0] for row in run(program_of("nested"), "u", base=folder).reply or []] == [1, 2, 4, 6]  # type: ignore[index]


@pytest.mark.parametrize("form", ["rows", "columns"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_native_forms_agree(name: str, form: Form, folder: Path) -> None:
    program = program_of(name)
    expected = run(program, "u", base=folder)
    source = program.unit("u").tasks[0]
    assert isinstance(source.op, From) and isinstance(source.op.connector, Files)
    rows, unread = drain(FilesSource(source.op.connector, source.schema, source.id, folder))
    batches = [Batch.from_rows(source.schema, rows[start : start + 3]) for start in range(0, len(rows), 3)]
    found = run_unit(program, program.unit("u"), form, inputs={source.id: batches})
    element = program.unit("u").tasks[-1].collection.element
    assert compare_rows(expected.reply or [], found.reply or [], element, ordered=True) == []
    dead = sorted([text for _, text in unread] + [letter.input for letter in found.letters])
    assert dead == sorted(letter.input for letter in expected.dead)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["records", "nested"])
def test_spark_agrees(name: str, spark: SparkSession, folder: Path) -> None:
    agree(spark, program_of(name), "u", folder)
