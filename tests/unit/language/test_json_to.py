"""`json_to` in both front ends: one graph, whose calls say where the fields stand."""

from __future__ import annotations

from pathlib import Path

from ghcm.language import parse
from ghcm.language.loading import load
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.json import from_json, to_json
from ghcm.spg.reference import run
from ghcm.spg.text import parse_program, print_program

TEXT = """program seen

record Row { text: string? }
record Seen { host: string from "id.host", n: int? }
record Flat { host: string, n: int? }

responsive batch u {
  memory([
    { text: r'{"id": {"host": "a"}, "host": "b", "n": 1, "more": {}}' },
    { text: r'{"host": "b"}' },
    { text: null }
  ]).as(Row)
    .map(r => { one: try(r.text.json_to(Seen)), flat: json_to(r.text, Flat), many: try(json_to(r.text, [Seen])) })
    .reply()
}
"""
PYTHON = """
from ghcm import Program, Record, at, fn, memory, try_

class Row(Record):
    text: str | None

class Seen(Record):
    host: str = at("id.host")
    n: int | None

class Flat(Record):
    host: str
    n: int | None

seen = Program("seen")

@seen.batch(responsive=True)
def u():
    memory([
        {"text": '{"id": {"host": "a"}, "host": "b", "n": 1, "more": {}}'},
        {"text": '{"host": "b"}'},
        {"text": None},
    ]).as_(Row).map(lambda r: {
        "one": try_(r.text.json_to(Seen)),
        "flat": fn.json_to(r.text, Flat),
        "many": try_(fn.json_to(r.text, [Seen])),
    }).reply()
"""


def test_records_of_the_same_fields_at_other_places_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "seen.py").write_text(PYTHON, encoding="utf-8")
    for tree in (parse(Source("seen.istream", TEXT)), load(tmp_path / "seen.py")):
        program = lower(tree)
        assert run(program, "u").reply == [(("a", 1), ("b", 1), None), (None, ("b", None), None), (None, None, None)]
        again = (parse_program(print_program(program)), from_json(to_json(program)))
        assert all(run(each, "u").reply == run(program, "u").reply for each in again)
