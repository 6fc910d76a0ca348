"""Mistakes in sinks and sources of databases are found before anything runs."""

from __future__ import annotations

import pytest

from ghcm.errors import ProgramError
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.connectors import Mode, Sql, SqlQuery
from ghcm.spg.graph import Program
from ghcm.spg.ops import Source as SourceOp
from ghcm.spg.text import parse_program, print_program


def program(sink: str, source: str = 'sql("db", "visits").as(Visit)') -> Program:
    text = f"program p\n\nrecord Visit {{ page: string, who: string? }}\n\nsink out = {sink}\n\n"
    return lower(parse(Source("p.istream", f"{text}stream u {{\n  {source}.to(out)\n}}\n")))


def test_what_a_program_says_of_databases_is_in_its_graph() -> None:
    source = 'sql("db", query = "select page, who from visits", split = "id", parts = 8).as(Visit)'
    found = program('sql("db", "lake.out", mode = upsert, key = v => v.page)', source)
    assert (found.sink("out").connector, found.sink("out").mode) == (Sql("db", "lake.out"), Mode.UPSERT)
    (read,) = [task.op for task in found.unit("u").tasks if not task.inputs]
    assert isinstance(read, SourceOp)
    assert read.connector == SqlQuery("db", "", "select page, who from visits", "id", 8)
    assert parse_program(print_program(found)) == found


@pytest.mark.parametrize(
    ("sink", "source", "said"),
    [
        ('sql("db", "out", mode = upsert)', "", "what is upserted is found by key"),
        ('sql("db", "out", key = v => v.page)', "", "a key has no use"),
        ('sql("db", "out", mode = upsert, key = v => v.who)', "", 'the key of sink "out" may be null'),
        ('sql("db", "out", mode = upsert, key = v => v.page + "x")', "", "is no column"),
        ('sql("db")', "", "table"),
        ('parquet("out")', 'sql("db").as(Visit)', '"sql" reads a table or a query'),
        ('parquet("out")', 'sql("db", "t", query = "select 1").as(Visit)', "not both"),
        ('parquet("out")', 'sql("db", "t", parts = 3).as(Visit)', '"parts" says into how many'),
        ('parquet("out")', 'sql("db", "t", split = "n", parts = 0).as(Visit)', '"parts" of "sql" is less than 1'),
        ('parquet("out")', 'sql("db", "t")', "needs records"),
        ('sql("db", "out")', 'sql("db", "t").as(Visit).map(v => { a: 1, A: 2 })', "names apart"),
    ],
)
def test_a_mistake_is_said(sink: str, source: str, said: str) -> None:
    with pytest.raises(ProgramError) as wrong:
        program(sink, source) if source else program(sink)
    assert said in str(wrong.value)
