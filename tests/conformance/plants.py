"""Planted errors: functions that an engine writes as something else, as a mistake in its emitter would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ghcm.codegen.native.columns.functions import COLUMN_FUNCTIONS
from ghcm.codegen.native.rows.functions import HANDLED, ROW_FUNCTIONS
from ghcm.codegen.spark.functions import EMITTED
from ghcm.expr import Call, Expr, Literal, Try
from ghcm.types import Bool, Float, Int, List, String, Type, as_nullable

__all__ = ["PLANTS", "Plant", "planted"]


@dataclass(frozen=True, slots=True)
class Plant:
    """A mistake in the emitter of a function: what is written instead, and the types of a call that shows it."""

    function: str
    mistake: str
    instead: Callable[[Call], Expr]
    types: tuple[Type, ...]

    def __str__(self) -> str:
        return f"{self.function}: {self.mistake}"


def _other(function: str) -> Callable[[Call], Expr]:
    return lambda call: replace(call, function=function)


def _later(place: int) -> Callable[[Call], Expr]:
    """One argument one too great."""

    def instead(call: Call) -> Expr:
        arguments = list(call.arguments)
        type_ = arguments[place].type
        greatest = Call("least", (arguments[place], Literal(1000, Int())), type_)
        arguments[place] = Call(
            "add", (Call("greatest", (greatest, Literal(0, Int())), type_), Literal(1, Int())), type_
        )
        return replace(call, arguments=tuple(arguments))

    return instead


def _unguarded(value: object) -> Callable[[Call], Expr]:
    """Some value where the function fails."""

    def instead(call: Call) -> Expr:
        tried = Try(call, as_nullable(call.type))
        return Call("coalesce", (tried, Literal(value, call.type)), call.type)

    return instead


PLANTS: tuple[Plant, ...] = (
    Plant("add", "it subtracts", _other("sub"), (Int(), Int())),
    Plant("sub", "the sides are exchanged", lambda call: replace(call, arguments=call.arguments[::-1]), (Int(), Int())),
    Plant("mul", "no guard against overflow", _unguarded(0), (Int(), Int())),
    Plant("floordiv", "no guard against a zero divisor", _unguarded(0), (Int(), Int())),
    Plant("div", "no guard against a zero divisor", _unguarded(0.0), (Float(), Float())),
    Plant("abs", "the sign stays", lambda call: call.arguments[0], (Float(),)),
    Plant("le", "it is less", _other("lt"), (Int(), Int())),
    Plant("gt", "equal is greater", _other("ge"), (Float(), Float())),
    Plant("and", "it is or", _other("or"), (Bool(), Bool())),
    Plant("is_null", "nothing is null", lambda _: Literal(False, Bool()), (Int(),)),
    Plant("coalesce", "the first is taken, null or not", lambda call: call.arguments[0], (Int(), Int())),
    Plant("substring", "it begins one later", _later(1), (String(), Int(), Int())),
    Plant("index_of", "the last one is found", _other("last_index_of"), (String(), String())),
    Plant("to_int", "no guard against bad text", _unguarded(0), (String(),)),
    Plant("contains", "it looks at the beginning only", _other("starts_with"), (String(), String())),
    Plant("trim", "the end stays", _other("trim_start"), (String(),)),
    Plant("get", "no guard against a place that is not there", _unguarded(0), (List(Int()), Int())),
)
"""One for each of these functions."""


TABLES: dict[str, tuple[dict[str, Any], ...]] = {
    "rows": (ROW_FUNCTIONS, HANDLED),
    "columns": (COLUMN_FUNCTIONS,),
    "spark": (EMITTED,),
}
"""The emitters by engine."""


@contextmanager
def planted(engine: str, *plants: Plant) -> Iterator[None]:
    """That engine makes these mistakes and no other does. What is written instead is written without mistakes."""
    tables = TABLES[engine]
    before = [dict(table) for table in tables]
    busy: list[Plant] = []

    def wrong(plant: Plant, emit: Callable[..., Any]) -> Callable[..., Any]:
        def write(scope: Any, call: Call, *codes: Any) -> Any:
            if busy:
                return emit(scope, call, *codes)
            busy.append(plant)
            try:
                return scope.emit(plant.instead(call)) if hasattr(scope, "emit") else scope.value(plant.instead(call))
            finally:
                busy.pop()

        return write

    try:
        for table in tables:
            mistaken = [each for each in plants if each.function in table]
            table.update({each.function: wrong(each, table[each.function]) for each in mistaken})
        yield
    finally:
        for table, entries in zip(tables, before, strict=True):
            table.update(entries)
