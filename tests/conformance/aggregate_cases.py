"""Programs with every aggregate that a type has, over values that break engines."""

from __future__ import annotations

from dataclasses import replace

from ghcm.aggregates import mean_of_decimals, result_of
from ghcm.expr import Call, Get, If, Lambda, MakeStruct, Var
from ghcm.functions import comparable
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Custom, Kind, Reducer
from ghcm.source import Origin
from ghcm.spg.connectors import Memory, Mode, Parquet
from ghcm.spg.graph import Forward, Hash, Input, Program, Sink, Task, Unit
from ghcm.spg.ops import AggregateByKey, EventTime, KeyBy, MapToPair, Op, Source, To
from ghcm.types import (
    Bool,
    Collection,
    Duration,
    Field,
    Int,
    Int32,
    List,
    Nullable,
    Shape,
    String,
    Struct,
    Timestamp,
    Type,
    as_nullable,
    nullable_like,
    pair_of,
    strip,
    tuple_of,
)
from tests.conformance.functions.case import VALUES

__all__ = ["TYPES", "every_aggregate"]

TYPES: tuple[Type, ...] = tuple(VALUES)
_HERE = Origin("aggregates.istream", 1, 1)


def every_aggregate(type_: Type, *, scalar: bool, nullable: bool = True) -> Program:
    """Groups of none, one, two and many values (`scalar`: they are the pairs' values, else in records)."""
    held = as_nullable(type_) if nullable else type_
    record = Struct(
        (Field("at", Timestamp()), Field("k", Nullable(String())), Field("n", Int()), Field("v", held)), "R"
    )
    row = Var("r", record)
    parts = {each.name: Get(row, each.name, each.type) for each in record.fields}
    value: Type = held if scalar else record
    key_by: Op = KeyBy(Lambda((row,), parts["k"]))
    if scalar:
        pair = MakeStruct((parts["k"], parts["v"]), tuple_of(Nullable(String()), held))
        key_by = MapToPair(Lambda((row,), pair))
    given = _aggregates(value, held, scalar=scalar)
    result = Struct(tuple(Field(each.name, each.type) for each in given))
    after = pair_of(Nullable(String()), result)
    pairs = pair_of(Nullable(String()), value)
    steps: list[tuple[Op, Collection]] = [
        (Source(Memory(_rows(type_, nullable=nullable))), Collection(Shape.STREAM, record, True)),
        (EventTime(Lambda((row,), parts["at"]), None), Collection(Shape.STREAM, record, True, timed=True)),
        (key_by, Collection(Shape.PAIRS, pairs, True, timed=True)),
        (AggregateByKey(given), Collection(Shape.PAIRS, after, True)),
        (To("out"), Collection(Shape.PAIRS, after, True)),
    ]
    tasks: list[Task] = []
    for op, collection in steps:
        exchange = Hash(("key",)) if isinstance(op, AggregateByKey) else Forward()
        inputs = (Input(tasks[-1].id, exchange),) if tasks else ()
        tasks.append(Task(f"t{len(tasks)}", op, inputs, collection, _HERE, named=True))
    unit = Unit("u", "batch", False, (), None, tuple(tasks), _HERE)
    return Program("aggregates", (), (Sink("out", Parquet("out"), Mode.REPLACE, None, after, _HERE),), (unit,))


def _aggregates(value: Type, held: Type, *, scalar: bool) -> tuple[Aggregate, ...]:
    whole = Var("v", value)
    argument = Lambda((whole,), whole if scalar else Get(whole, "v", held))
    order = Lambda((whole,), whole if scalar else Get(whole, "n", Int()))
    found: list[Aggregate] = []
    for function in AggregateFunction:
        if function is AggregateFunction.FOLD:
            found += _folds(argument, order)
            continue
        if function is AggregateFunction.MEAN:
            found += [each for scale in (0, 3) if (each := _rounded_mean(argument, scale)) is not None]
        result = result_of(function, held)
        if result is None or (function is AggregateFunction.SUM and strip(held) == Int32()):  # is widened first
            continue
        made = Aggregate(function.value, function, argument, result)
        match function:
            case AggregateFunction.QUANTILE:
                found += [replace(made, name=f"q{part}", fraction=part / 100) for part in (0, 7, 50, 95, 100)]
            case AggregateFunction.TOP_K:
                found.append(replace(made, limit=3))
            case AggregateFunction.FIRST | AggregateFunction.LAST:
                found += [made, replace(made, name=f"{made.name}_by", order=order)]
                some = result_of(function, held, several=True)
                assert some is not None
                found.append(replace(made, name=f"{made.name}_some", order=order, limit=2, type=some))
            case _:
                found.append(made)
    return tuple(found)


def _folds(argument: Lambda, order: Lambda) -> list[Aggregate]:
    """All values in order; and what a merge makes of them, built in or a function."""
    held = argument.body.type
    fold = Aggregate("fold", AggregateFunction.FOLD, argument, held)
    found: list[Aggregate] = []
    if comparable(argument.parameters[0].type):
        found += [replace(fold, name="in_order", type=List(strip(held)), order=order)]
    if not comparable(held):
        return found
    one, two = Var("a", strip(held)), Var("b", strip(held))
    greater = If(Call("gt", (one, two), Bool()), one, two, strip(held))
    merges: list[Reducer] = [Builtin(Kind.MIN, strip(held)), Custom(Lambda((one, two), greater), True, None)]
    merges += [Builtin(Kind.SUM, strip(held))] if isinstance(strip(held), Int | Duration) else []
    found += [replace(fold, name=f"merged{at}", reducer=each) for at, each in enumerate(merges)]
    state = Var("s", as_nullable(held))
    finish = Lambda((state,), Call("is_null", (state,), Bool()))
    return [*found, replace(fold, name="finished", reducer=merges[0], finish=finish, type=Bool())]


def _rounded_mean(argument: Lambda, scale: int) -> Aggregate | None:
    to = mean_of_decimals(strip(argument.body.type), scale)
    result = None if to is None else nullable_like(to, argument.body.type)
    return None if result is None else Aggregate(f"mean{scale}", AggregateFunction.MEAN, argument, result)


def _rows(type_: Type, *, nullable: bool) -> tuple[tuple[object, ...], ...]:
    values = [each for each in VALUES[type_] if each is not None]
    groups: dict[str | None, list[object]] = {
        "one": values[:1],
        "twice": values[:1] * 2,
        "two": values[1:3],
        "many": values * 2,
        None: values[::-1],
    }
    if nullable:
        groups |= {"none": [None, None], "some": [None, *values[-2:], None]}
    pairs = [(key, value) for key, several in groups.items() for value in several]
    return tuple((number * 7919 % 5, key, number * 31 % 7, value) for number, (key, value) in enumerate(pairs))
