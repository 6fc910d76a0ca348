"""Records as classes: annotations are the fields, `at("path")` is where one stands in the source's format."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, dataclass_transform

from ghcm.language import ast
from ghcm.language.fluent.annotations import type_of
from ghcm.language.fluent.definitions import Definition, definition
from ghcm.language.fluent.operands import call_operands
from ghcm.language.fluent.places import caller, here
from ghcm.language.fluent.problems import mistake
from ghcm.language.fluent.references import Later, later, next_order
from ghcm.language.fluent.values import expr_of, name_of
from ghcm.source import Span


@dataclass(frozen=True, slots=True)
class _At:
    path: str


def at(path: str) -> Any:
    """The place of a field in the source's format, as its default: `src: str = at("id.orig_h")`."""
    return _At(path)


def place_of(found: object) -> str | None:
    """What `at` says; None where it says nothing."""
    return found.path if isinstance(found, _At) else None


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """Where and when a record's class was made."""

    order: int
    namespace: dict[str, Any]
    local: dict[str, Any]
    place: Definition


@dataclass_transform(kw_only_default=True, field_specifiers=(at,))
class Record:
    """A record of the program: `class Flow(Record): ts: datetime; src: str = at("id.orig_h"); label: str | None`.

    The class is the type; a call of it in a lambda, `Alarm(ts=f.ts)`, is a record's value.
    """

    __ghcm_made__: ClassVar[Made]

    def __init_subclass__(cls) -> None:
        frame = caller()
        place = definition(frame.f_code.co_filename, cls.__name__, frame.f_lineno)
        cls.__ghcm_made__ = Made(next_order(), frame.f_globals, dict(frame.f_locals), place)

    def __init__(self, *values: Any, **named: Any) -> None:
        self.__dict__["__ghcm_values__"] = (values, named, call_operands(here()))

    @classmethod
    def __ghcm_name__(cls, span: Span) -> ast.Expr:
        """The name of the record, once it is known."""
        return later(cls, span)

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        """The record's value with the fields that it was given."""
        values, named, places = self.__dict__["__ghcm_values__"]
        names = _fields(type(self))
        if len(values) > len(names):
            message = f'"{type(self).__name__}" has {len(names)} fields and is given {len(values)} values'
            raise mistake("GHCM-133", message, places.whole)
        given = [
            (name, value, places.at(index)) for index, (name, value) in enumerate(zip(names, values, strict=False))
        ]
        given += [(name, value, places.of(name)) for name, value in named.items()]
        fields = tuple((name_of(name, at), expr_of(value, at)) for name, value, at in given)
        return ast.RecordExpr(Later.of(type(self)), fields, places.whole)


def made(record: type[Record]) -> Made:
    """Where and when a record's class was made."""
    return record.__ghcm_made__


def records_of(namespace: dict[str, Any]) -> list[type[Record]]:
    """The records of one module in the order in which they were made; of several of one name the last."""
    mine = {each.__name__: each for each in sorted(_all(Record), key=_order) if made(each).namespace is namespace}
    return sorted(mine.values(), key=_order)


def declare(record: type[Record]) -> ast.RecordDecl:
    """The declaration that a record's class says. Raises `ProgramError`."""
    place = made(record).place
    hints = _hints(record)
    fields: list[ast.FieldDecl] = []
    for name in _fields(record):
        span = place.field(name)
        path = getattr(record, name, None)
        if path is not None and not isinstance(path, _At):
            hint = 'where it stands in the source is said by at("path")'
            raise mistake("GHCM-133", f'field "{name}" cannot have a default', span, hint=hint)
        where = None if path is None else path.path
        fields.append(ast.FieldDecl(name_of(name, span), type_of(hints[name], span), where, span))
    return ast.RecordDecl(name_of(record.__name__, place.name), tuple(fields), place.whole)


def parts_of(record: type[Record]) -> Iterator[tuple[str, object, str | None]]:
    """The fields of a record: name, annotation, place in the source. Raises `ProgramError`."""
    hints = _hints(record)
    for name in _fields(record):
        path = getattr(record, name, None)
        yield name, hints[name], place_of(path)


def _order(record: type[Record]) -> int:
    return made(record).order


def _all(record: type[Record]) -> Iterator[type[Record]]:
    for each in record.__subclasses__():
        yield each
        yield from _all(each)


def _lineage(record: type[Record]) -> list[type[Record]]:
    """The record and those that it extends, theirs first."""
    return [each for each in reversed(record.__mro__) if issubclass(each, Record) and each is not Record]


def _fields(record: type[Record]) -> list[str]:
    names = dict.fromkeys(name for each in _lineage(record) for name in inspect.get_annotations(each))
    return [name for name in names if not name.startswith("__")]


def _hints(record: type[Record]) -> dict[str, Any]:
    """The annotations with names looked up where each class was made."""
    found: dict[str, Any] = {}
    for each in _lineage(record):
        here = made(each)
        own = SimpleNamespace(__annotations__=inspect.get_annotations(each))
        try:
            found |= typing.get_type_hints(own, here.namespace, here.local, include_extras=True)
        except NameError as error:
            message = f'"{error.name}" is not defined'
            raise mistake("GHCM-132", message, here.place.name, detail="An annotation names it.") from None
        except TypeError as error:
            raise mistake("GHCM-132", f"an annotation makes no sense: {error}", here.place.name) from None
    return found
