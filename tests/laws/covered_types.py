"""Where generated programs have values of each type: in sources, keys, comparisons, aggregates, sinks and so on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import product
from typing import Any, cast, get_args

from ghcm import types
from ghcm.expr import Call, ForEach, Get, If, Let, Literal, Param, Try
from ghcm.reducers import Aggregate, Builtin, Custom, Fields
from ghcm.spg.connectors import Files, Socket
from ghcm.spg.graph import Task, Unit, all_tasks
from ghcm.spg.ops import (
    AggregateByKey,
    Count,
    Distinct,
    GroupByKey,
    Join,
    PythonBatch,
    PythonCall,
    ReadSink,
    ReduceByKey,
    Reply,
    Sort,
    Source,
    To,
    Top,
)
from ghcm.types import Collection, Enumeration, List, Map, Nullable, Struct, Type, strip

__all__ = ["PLACES", "TYPES", "is_union", "nodes", "places_of"]

TYPES = frozenset(each.__name__ for each in get_args(types.Type)) - {"Null"} | {"Union"}
"""No record has nulls only. A union is a struct to the engines, and a type of its own to whoever writes programs."""
_ORDERED = ("grouped", "joined", "distinct", "sorted", "reduced", "collected", "compared")
_ANY = ("read", "decoded", "aggregated", "literal", "chosen", "kept", "tried", "item", "parameter", "python", "given")
_MATCHED = frozenset({"Union matched", "Enumeration matched"})
_NEVER = {f"Map {place}" for place in _ORDERED} | {"Nullable reduced"}
"""Maps are not compared, and what may be null is not reduced."""
PLACES = frozenset(f"{kind} {place}" for kind, place in product(TYPES, (*_ORDERED, *_ANY))) - _NEVER | _MATCHED
_COMPARISONS = ("eq", "same", "ne", "lt", "le", "gt", "ge", "least", "greatest")


def places_of(unit: Unit) -> Iterator[tuple[str, str]]:
    """The types that a unit has, each with where it has it."""
    inside = {task.id: task.collection for task in all_tasks(unit)}
    for task in all_tasks(unit):
        takes = [inside[edge.producer] for edge in task.inputs if edge.producer in inside]
        for place, type_ in _of_task(task, takes):
            yield from ((kind, place) for kind in _kinds(type_))
    for node in nodes(tuple(unit.tasks)):
        for place, type_ in _of_node(node):
            yield from ((kind, place) for kind in _kinds(type_))


@cache
def _kinds(type_: Type) -> tuple[str, ...]:
    """The words for a type and all of its parts."""
    match type_:
        case Nullable(of=of):
            return ("Nullable", *_kinds(of))
        case List(item=item):
            return ("List", *_kinds(item))
        case Map(key=key, value=value):
            return ("Map", *_kinds(key), *_kinds(value))
        case Struct(fields=parts):
            word = "Union" if is_union(type_) else "Struct"
            return (word, *(kind for each in parts for kind in _kinds(each.type)))
        case _:
            return (type(type_).__name__,)


def is_union(type_: Type) -> bool:
    """Whether it is a union, narrowed ones too."""
    return isinstance(type_, Struct) and bool(type_.variants or type_.cases)


def _of_task(task: Task, takes: list[Collection]) -> Iterator[tuple[str, Type]]:
    """What the operator itself looks at."""
    match task.op:
        case Source(connector=connector):
            yield "decoded" if isinstance(connector, Files | Socket) else "read", task.schema
        case ReadSink():
            yield "read", task.schema
        case GroupByKey() if takes:
            yield "collected", _part(takes[0], "value")
            yield "grouped", _part(takes[0], "key")
        case ReduceByKey(reducer=reducer) if takes:
            yield "grouped", _part(takes[0], "key")
            yield "reduced", reducer.function.parameters[0].type if isinstance(reducer, Custom) else reducer.type
        case AggregateByKey() | Count() if takes and takes[0].columns.get("key"):
            yield "grouped", _part(takes[0], "key")
        case Distinct() if takes:
            yield "distinct", takes[0].element
        case Sort(by=by) | Top(by=by):
            yield "sorted", by.body.type
        case Join(left_keys=keys):
            yield from (("joined", key.body.type) for key in keys)
        case PythonCall() | PythonBatch() if takes:
            yield "python", takes[0].element
        case To() | Reply() if takes:
            yield "given", takes[0].element
        case _:
            pass


def _part(of: Collection, name: str) -> Type:
    field = of.columns.get(name)
    assert field is not None, "pairs have keys and values"
    return field.type


def _of_node(node: object) -> Iterator[tuple[str, Type]]:
    """What an expression does with values of a type."""
    match node:
        case If(condition=Call(function="eq", arguments=(Get(of=of, type=tag), Literal())), type=type_):
            yield "chosen", type_
            yield from (("matched", strip(each)) for each in (of.type, tag) if is_union(strip(each)) or _is_enum(each))
        case If(type=type_):
            yield "chosen", type_
        case Call(function=name, arguments=arguments) if name in _COMPARISONS:
            yield from (("compared", each.type) for each in arguments)
        case Literal(type=type_):
            yield "literal", type_
        case Let(variable=variable):
            yield "kept", variable.type
        case Try(type=type_):
            yield "tried", type_
        case ForEach(item=item):
            yield "item", item.type
        case Param(type=type_):
            yield "parameter", type_
        case Aggregate(argument=argument) if argument is not None:
            yield "aggregated", argument.body.type
        case Builtin(type=type_) | Fields(type=type_):
            yield "reduced", type_
        case _:
            pass


def _is_enum(type_: Type) -> bool:
    return isinstance(strip(type_), Enumeration)


def nodes(value: object) -> Iterator[object]:
    """The parts of a graph that are dataclasses, but for the data and the types."""
    if isinstance(value, tuple):
        for each in cast("tuple[object, ...]", value):
            yield from nodes(each)
    elif is_dataclass(value) and type(value).__module__ != "ghcm.types" and type(value).__name__ not in _DATA:
        yield value
        for part in _parts(type(value)):
            yield from nodes(getattr(value, part))


_DATA = ("Memory", "Origin")


_PARTS: dict[type, tuple[str, ...]] = {}


def _parts(type_: type[Any]) -> tuple[str, ...]:
    if type_ not in _PARTS:
        _PARTS[type_] = tuple(each.name for each in fields(type_) if each.init)
    return _PARTS[type_]
