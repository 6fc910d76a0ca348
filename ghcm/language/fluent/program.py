"""Programs in Python: msg caches, sinks and units, and the syntax tree that they make together."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar, overload

from ghcm.errors import ProgramError
from ghcm.language import ast
from ghcm.language.fluent.connectors import Cache, Sink, declare_store
from ghcm.language.fluent.pipelines import Pipeline
from ghcm.language.fluent.positions import caller, collecting, here, keep, mistake, report
from ghcm.language.fluent.records import (
    OneOf,
    Record,
    declare,
    declare_enum,
    declare_union,
    is_enum,
    is_union,
    made,
    records_of,
    unions_of,
)
from ghcm.language.fluent.units import Function, OwnFunction, Unit, declare_function, declare_unit
from ghcm.language.fluent.values import name_of, resolve, targets
from ghcm.source import Span

_T = TypeVar("_T")
_D = TypeVar("_D", bound=ast.Declaration)


class Program:
    """A program in Python.

    >>> from ghcm.language.fluent.connectors import files
    >>> words = Program("words")
    >>> @words.stream
    ... def monitor():
    ...     lines = files("books/*.txt", format="text")
    >>> [each.name.text for each in words.tree().declarations]
    ['monitor']
    """

    def __init__(self, name: str) -> None:
        self.span = here()
        self.name = name
        self._namespace = caller().f_globals
        self._stores: list[Cache | Sink] = []
        self._functions: list[OwnFunction] = []
        self._units: list[Unit] = []

    def cache(self, connector: Pipeline, *, name: str | None = None) -> Cache:
        """Declare a msg cache: `calls = program.cache(kafka("traffic.rebuild"))`."""
        made_here = Cache(_connector(connector), name)
        self._stores.append(made_here)
        return made_here

    def sink(self, connector: Pipeline, *, name: str | None = None) -> Sink:
        """Declare a sink: `shares = program.sink(redis("traffic:share", key=lambda r: r.key))`."""
        made_here = Sink(_connector(connector), name)
        self._stores.append(made_here)
        return made_here

    def function(self, function: Function, /) -> OwnFunction:
        """Declare a function: a decorator of a typed, pure function that lambdas call."""
        made_here = OwnFunction(function, here())
        self._functions.append(made_here)
        return made_here

    @overload
    def stream(self, function: Function, /) -> Unit: ...

    @overload
    def stream(self, *, responsive: bool = False, on: Cache | None = None) -> Callable[[Function], Unit]: ...

    def stream(
        self, function: Function | None = None, *, responsive: bool = False, on: Cache | None = None
    ) -> Unit | Callable[[Function], Unit]:
        """Declare a unit that runs for ever: a decorator of a function that describes its pipelines."""
        return self._unit("stream", function, responsive, on)

    @overload
    def batch(self, function: Function, /) -> Unit: ...

    @overload
    def batch(self, *, responsive: bool = False, on: Cache | None = None) -> Callable[[Function], Unit]: ...

    def batch(
        self, function: Function | None = None, *, responsive: bool = False, on: Cache | None = None
    ) -> Unit | Callable[[Function], Unit]:
        """Declare a unit that runs as a Spark job: a decorator of a function that describes its pipelines."""
        return self._unit("batch", function, responsive, on)

    def _unit(
        self, kind: Any, function: Function | None, responsive: bool, on: Cache | None
    ) -> Unit | Callable[[Function], Unit]:
        span = here()

        def declared(function: Function) -> Unit:
            unit = Unit(kind, function, responsive, on, span)
            self._units.append(unit)
            return unit

        return declared if function is None else declared(function)

    def tree(self) -> ast.Program:
        """The syntax tree: the functions of the units are called now. Raises `ProgramError` with all mistakes."""
        with collecting() as problems:
            found: list[tuple[int, ast.Declaration]] = []
            for store in self._stores:
                found += _kept(store.order, declare_store, store)
            for own in self._functions:
                found += _kept(own.order, declare_function, own)
            for unit in self._units:
                found += _kept(unit.__ghcm_unit__.order, declare_unit, unit)
            for union in _unions_in([declaration for _, declaration in found], self._namespace):
                found += _kept(union.__ghcm_made__.order, declare_union, union)
            found += self._records([declaration for _, declaration in found])
            for enum in _enums_in([declaration for _, declaration in found]):
                found += _kept(-1, declare_enum, enum)
            ordered = [declaration for _, declaration in sorted(found, key=lambda each: each[0])]
            program = self._named(ordered)
        problems.check()
        assert program is not None, "a program without mistakes has a tree"
        return program

    def _named(self, declarations: list[ast.Declaration]) -> ast.Program | None:
        """The whole tree with every name known; None after a mistake."""
        try:
            name = name_of(self.name, self.span)
            return resolve(ast.Program(name, tuple(declarations), self.span), _name_of_target)
        except ProgramError as error:
            keep(error)
            return None

    def _records(self, declarations: list[ast.Declaration]) -> list[tuple[int, ast.Declaration]]:
        """The records of the program's module, and those of others that it uses."""
        found: list[tuple[int, ast.Declaration]] = []
        waiting = [*records_of(self._namespace), *_records_in(declarations)]
        seen: set[type[Record]] = set()
        while waiting:
            record = waiting.pop(0)
            if record in seen:
                continue
            seen.add(record)
            declared = _kept(made(record).order, declare, record)
            found += declared
            waiting += _records_in([declaration for _, declaration in declared])
        return found


def _kept(order: int, declare: Callable[[_T], _D], what: _T) -> list[tuple[int, _D]]:
    """The declaration of something, unless that is a mistake, which is noted."""
    try:
        return [(order, declare(what))]
    except ProgramError as error:
        keep(error)
        return []


def _connector(connector: object) -> Pipeline:
    if isinstance(connector, Pipeline):
        return connector
    report("GHCM-132", "this is no connector", here(), hint='write redis("..."), parquet("...") or kafka("...")')
    return Pipeline(ast.Ref("redis"), here())


def _records_in(declarations: list[ast.Declaration]) -> list[type[Record]]:
    return [each for each in targets(tuple(declarations)) if isinstance(each, type) and issubclass(each, Record)]


def _unions_in(declarations: list[ast.Declaration], namespace: dict[str, Any]) -> list[type[OneOf]]:
    """The unions of the program's module, and those of others that declarations mention, each once."""
    return list(dict.fromkeys((*unions_of(namespace), *filter(is_union, targets(tuple(declarations))))))


def _enums_in(declarations: list[ast.Declaration]) -> list[type[Enum]]:
    """The enums that declarations mention, each once."""
    return list(dict.fromkeys(each for each in targets(tuple(declarations)) if is_enum(each)))


def _name_of_target(target: object, span: Span | None) -> str | ast.Expr:
    match target:
        case Cache() | Sink():
            return target.name
        case Unit():
            return target.__ghcm_unit__.name
        case OwnFunction():
            return target.name
        case type():
            return target.__name__
        case Pipeline():
            return resolve(target.expr, _name_of_target)
        case _:
            raise mistake("GHCM-132", f'a "{type(target).__name__}" has no name in the program', span)
