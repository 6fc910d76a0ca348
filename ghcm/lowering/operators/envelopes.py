"""Envelopes of Debezium: what has become of a row of a database, as a record of the row.

An envelope is a JSON object with the row `before` and `after`, the operation `op`, and facts about it. The record is
that of `after`, of what was deleted that of `before`; fields whose path begins with two underscores hold facts of the
envelope. It is decoded as a record of its own, and a filter and a map make the other of it, so that no engine knows of
envelopes.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from ghcm.codes import Code
from ghcm.expr import Expr, Get, If, Lambda, Let, Literal, MakeStruct, Var, fresh
from ghcm.lowering.drafts import Draft, Flow, RawSource, Step
from ghcm.lowering.expressions.functions import call_of
from ghcm.lowering.narrowing import to_known
from ghcm.spg.connectors import Kafka
from ghcm.spg.ops import Filter, Map, Source
from ghcm.types import (
    Bool,
    Collection,
    Date,
    Decimal,
    Duration,
    Enumeration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Nullable,
    Shape,
    String,
    Struct,
    Timestamp,
    Type,
    is_nullable,
)

_FACT = "__"
_DELETED, _TOMBSTONE = "d", "tombstone"
_NO_ROWS = ("t", "m", _TOMBSTONE)
"""Operations that are about no row: a table was emptied, a message of the database; a message without a value, which
follows each deletion."""


def unwrapped(step: Step, source: RawSource, element: Struct) -> Draft:
    """The task that gives the records of envelopes."""
    connector, place = source.connector, f"{source.envelope}." if source.envelope else ""
    assert connector is not None, "rows of memory are in no envelopes"
    beside = {name for _, name in connector.fields} if isinstance(connector, Kafka) else set[str]()
    facts = [each for each in element.fields if (each.path or "").startswith(_FACT)]
    held = [each for each in element.fields if each not in facts and each.name not in beside]
    if element.cases or not held:
        message = f'"{element}" is no record of the rows in envelopes'
        hint = "A record with a field for each column does; unions and facts alone do not."
        raise step.report(Code.BAD_FORMAT, message, source.span, hint=hint)
    names = [each.name for each in element.fields]
    op, after, before = (fresh(name, names) for name in ("op", "after", "before"))
    row = Struct(tuple(held))
    envelope = Struct(
        (
            Field(op, String(), f"{place}op"),
            Field(after, Nullable(row), f"{place}after"),
            Field(before, Nullable(row), f"{place}before"),
            *(replace(each, path=f"{place}{(each.path or '')[len(_FACT) :]}") for each in facts),
            *(each for each in element.fields if each.name in beside),
        )
    )
    if isinstance(connector, Kafka):
        gone: object = _without_value(facts)
        for part in reversed(source.envelope.split(".") if source.envelope else []):
            gone = {part: gone}
        connector = replace(connector, absent=json.dumps(gone, separators=(",", ":")))
    taken = Collection(Shape.STREAM, envelope, source.bounded)
    draft = step.add(Source(connector), taken)
    draft.word, draft.span = source.word, source.span
    record = Var("e", envelope)
    filtered = step.row(Filter(Lambda((record,), _about_a_row(record, op, after, before))), Flow(draft, taken), taken)
    given = replace(taken, element=element)
    made = step.row(
        Map(Lambda((record,), _row_of(record, element, row, (op, after, before)))), Flow(filtered, taken), given
    )
    filtered.word = made.word = source.word
    return made


def _without_value(facts: Sequence[Field]) -> dict[str, object]:
    """The envelope of a message without a value, which is passed over whatever facts the record asks for."""
    gone: dict[str, object] = {"op": _TOMBSTONE}
    for fact in facts:
        *around, name = (fact.path or "")[len(_FACT) :].split(".")
        held = gone
        for part in around:
            held = cast("dict[str, object]", held.setdefault(part, {}))
        if not is_nullable(fact.type) and name not in held:
            held[name] = _anything(fact.type)
    return gone


def _anything(type_: Type) -> object:
    """Some value of a type as JSON; null of those that have none in common."""
    match type_:
        case String():
            return ""
        case Bool():
            return False
        case Int() | Int32() | Float() | Timestamp() | Duration() | Decimal():
            return 0
        case Date():
            return "1970-01-01"
        case Enumeration(values=values):
            return values[0]
        case List():
            return []
        case _:  # such facts are asked for where they may be null
            return None


def _about_a_row(record: Var, op: str, after: str, before: str) -> Expr:
    """Whether the operation is about a row; it fails where that row is missing."""
    said = Get(record, op, String())
    rows = {name: _part(record, name) for name in (after, before)}
    missing = If(_is(said, _DELETED), _is_null(rows[before]), _is_null(rows[after]), call_of("is_null", said).type)
    text = call_of("concat", said, Literal(" without its row", String()))
    fails = call_of("eq", call_of("to_int", text), Literal(0, Int()))
    skipped: Expr = _is(said, _NO_ROWS[0])
    for each in _NO_ROWS[1:]:
        skipped = call_of("or", skipped, _is(said, each))
    kept = If(missing, fails, Literal(True, missing.type), missing.type)
    return If(skipped, Literal(False, missing.type), kept, missing.type)


def _row_of(record: Var, element: Struct, row: Struct, names: tuple[str, str, str]) -> Expr:
    """The record, of the row that there is and of facts."""
    op, after, before = names
    deleted = _is(Get(record, op, String()), _DELETED)
    there = If(deleted, to_known(_part(record, before)), to_known(_part(record, after)), row)
    chosen = Var("row", row)
    parts = [Get(chosen if each.name in row.names else record, each.name, each.type) for each in element.fields]
    return Let(chosen, there, MakeStruct(tuple(parts), element), element)


def _part(record: Var, name: str) -> Get:
    assert isinstance(record.type, Struct), "an envelope is a record"
    return Get(record, name, record.type.field_of(name).type)


def _is(said: Expr, op: str) -> Expr:
    return call_of("eq", said, Literal(op, String()))


def _is_null(value: Expr) -> Expr:
    return call_of("is_null", value)
