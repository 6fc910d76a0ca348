"""Unions in both front ends."""

from __future__ import annotations

from pathlib import Path

from ghcm.language import load, parse, print_program
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.verify import verify

TEXT = """program events

record Login  { user: string, host: string }
record Logout { user: string, seconds: int? }
record Failed { reason: string }
record Row    { event: Event, maybe: Event? }

union Event by kind { login: Login, Logout, "log-in failed": Failed }

sink out = parquet("out", mode = replace)

function made(user: string) : Event =
  if user == "" then Failed { reason: "nobody" } else Login { user: user, host: "h" }

batch b {
  files("a.json", format = json)
    .as(Row)
    .filter(r => r.event is Login or r.maybe is not Failed)
    .map(r => {
      user: match r.event { Login or Logout => r.event.user, Failed => r.event.reason },
      made: made(r.event.kind)
    })
    .to(out)
}
"""
PYTHON = """from ghcm import OneOf, Program, Record, at, files, if_else, is_, match_, parquet

class Login(Record):
    user: str
    host: str

class Logout(Record):
    user: str
    seconds: int | None

class Failed(Record):
    reason: str

class Event(OneOf, by="kind"):
    login: Login
    Logout: Logout
    failed: Failed = at("log-in failed")

class Row(Record):
    event: Event
    maybe: Event | None

program = Program("events")
out = program.sink(parquet("out", mode="replace"))

@program.function
def made(user: str) -> Event:
    return if_else(user == "", Failed(reason="nobody"), Login(user=user, host="h"))

@program.batch
def b():
    rows = files("a.json", format="json").as_(Row)
    rows.filter(lambda r: is_(r.event, Login) | ~is_(r.maybe, Failed)).map(lambda r: {
        "user": match_(r.event, {(Login, Logout): r.event.user, Failed: r.event.reason}),
        "made": made(r.event.kind),
    }).to(out)
"""


def test_both_front_ends_give_the_same_program(tmp_path: Path) -> None:
    path = tmp_path / "events.py"
    path.write_text(PYTHON, encoding="utf-8")
    text = print_program(load(path))
    assert 'union Event by kind { login: Login, Logout, "log-in failed": Failed }' in text
    written = lower(parse(Source("events.istream", TEXT)))
    assert lower(load(path)).sinks == written.sinks
    assert lower(parse(Source("printed.istream", text))).sinks == written.sinks


def test_canonical_text_puts_a_record_on_each_line_where_they_are_many() -> None:
    names = [f"SomeRecordOfTheUnion{index}" for index in range(9)]
    text = print_program(parse(Source("a.istream", f"program a\nunion union by by {{ {', '.join(names)} }}\n")))
    assert text == "program a\n\nunion union by by {\n  " + "\n  ".join(names) + "\n}\n"
    assert print_program(parse(Source("b.istream", text))) == text


NARROWED = """program narrowed

record Login  { user: string?, host: string, count: int? }
record Logout { user: string, count: int? }

union Event by kind { login: Login, logout: Logout }

sink out = files("out", format = json, mode = append)

stream s {
  events = files("a.json", format = json).as(Event)
  named  = events.filter(e => e.user is not null)
  logins = named.filter(e => e is Login)
  logins.map(e => { user: e.user.length(), host: e.host.length(), record: match e { Login l => l.user } }).to(out)
}
"""


def test_what_is_known_of_a_union_stays_known_when_less_records_are_possible() -> None:
    unit = lower(parse(Source("narrowed.istream", NARROWED))).unit("s")
    types = {
        id: {field.name: str(field.type) for field in unit.task(id).collection.columns.fields}
        for id in ("named", "logins")
    }
    assert types["named"] | {"kind": ""} == {"kind": "", "user": "string", "host": "string?", "count": "int?"}
    assert types["logins"] | {"kind": ""} == {"kind": "", "user": "string", "host": "string", "count": "int?"}
    assert not list(verify(lower(parse(Source("narrowed.istream", NARROWED)))))
