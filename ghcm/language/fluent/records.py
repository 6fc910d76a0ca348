"""Classes as declarations: records, enums (also `Literal`), unions of records, and annotations as types.

`class Flow(Record): ts: datetime; src: str = at("id.orig_h")` is a record, `class Proto(Enum): TCP = "tcp"` is
`enum Proto { tcp }`, `class Event(OneOf, by="kind"): login: Login` is `union Event by kind { login: Login }`.
"""

import inspect
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from operator import itemgetter
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

from ghcm.language import ast
from ghcm.language.fluent.positions import Definition, call_operands, caller, here, mistake
from ghcm.language.fluent.tracing import expr_of
from ghcm.language.fluent.values import FieldsOf, Later, later, name_of, next_order
from ghcm.source import Span
from ghcm.types import Bool, Bytes, Date, Duration, Enumeration, Float, Int, Int32, String, Timestamp, Type

_KNOWN = (
    "A type is bool, int, int32, float, str, bytes, datetime, date, timedelta, list[T], dict[K, V], tuple[A, B], "
    "a Record, a OneOf, an Enum or Literal of strings, Annotated[Decimal, Digits(10, 2)], or one of these with | None."
)


_Kind = TypeVar("_Kind", "Record", "OneOf")


class int32(int):
    """The annotation for a whole number of 32 bits."""


@dataclass(frozen=True, slots=True)
class Digits:
    """How exact a decimal is: `Annotated[Decimal, Digits(10, 2)]` has ten digits, two of them behind the point."""

    precision: int
    scale: int


PLAIN: dict[object, Type] = {
    bool: Bool(), int: Int(), int32: Int32(), float: Float(), str: String(), bytes: Bytes(), datetime: Timestamp(),
    date: Date(), timedelta: Duration(),
}  # fmt: skip
"""The annotations that are a type by themselves."""


def type_of(annotation: object, span: Span) -> ast.TypeExpr:
    """The type that an annotation means. Raises `ProgramError` where it means none."""
    if isinstance(annotation, type) and annotation in PLAIN:
        return ast.NamedType(str(PLAIN[annotation]), span=span)
    if isinstance(annotation, type) and (hasattr(annotation, "__ghcm_name__") or is_enum(annotation)):
        return ast.NamedType(Later.of(annotation), span=span)
    if is_literal(annotation):
        return ast.EnumType(_values(annotation, span), span=span)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _nullable(arguments, span)
    if origin is typing.Annotated and arguments[0] is Decimal and isinstance(arguments[1], Digits):
        return ast.NamedType("decimal", (arguments[1].precision, arguments[1].scale), span=span)
    if origin is typing.Annotated:
        return type_of(arguments[0], span)
    inner = tuple(type_of(each, span) for each in arguments)
    match origin, inner:
        case type(), (_,) if origin is list:
            return ast.NamedType("list", inner, span=span)
        case type(), (_, _) if origin is dict:
            return ast.NamedType("map", inner, span=span)
        case type(), (_, _, *_) if origin is tuple:
            return ast.TupleType(inner, span=span)
        case _:
            raise _unknown(annotation, span)


def hints_of(
    annotated: Any, span: Span, names: dict[str, Any] | None = None, local: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The annotations of a class or function, by name. Raises `ProgramError` where they make no sense."""
    try:
        return typing.get_type_hints(annotated, names, local, include_extras=True)
    except NameError as error:
        message = f'"{error.name}" is not defined'
        raise mistake("GHCM-132", message, span, detail="An annotation names it.") from None
    except TypeError as error:
        raise mistake("GHCM-132", f"an annotation makes no sense: {error}", span) from None


def _nullable(arguments: tuple[object, ...], span: Span) -> ast.TypeExpr:
    given = [each for each in arguments if each is not types.NoneType]
    if len(given) != 1 or len(given) == len(arguments):
        detail = "A value has one type, and may be null where | None says so."
        records = all(hasattr(each, "__ghcm_name__") for each in given)
        hint = 'class Event(OneOf, by="kind"): ... is one of several records' if records else ""
        raise mistake("GHCM-132", "a union of types is no type of the language", span, detail=detail, hint=hint)
    return ast.NullableType(type_of(given[0], span), span=span)


def _unknown(annotation: object, span: Span) -> Exception:
    said = annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")
    hints = {"Decimal": "write Annotated[Decimal, Digits(10, 2)]", "list": "write list[T]", "dict": "write dict[K, V]"}
    return mistake("GHCM-132", f'"{said}" is no type of the language', span, detail=_KNOWN, hint=hints.get(said, ""))


def is_enum(found: object) -> typing.TypeGuard[type[Enum]]:
    """Whether it is a class of Python's enums."""
    return isinstance(found, type) and issubclass(found, Enum)


def is_literal(annotation: object) -> bool:
    """Whether it is `Literal[...]`."""
    return typing.get_origin(annotation) is typing.Literal


def enum_type(found: object) -> Enumeration | None:
    """The type that an enum or a `Literal` says; None where its values are no strings."""
    values = [member.value for member in found] if is_enum(found) else list(typing.get_args(found))
    if not values or not all(isinstance(value, str) for value in values):
        return None
    return Enumeration(tuple(values), found.__name__ if is_enum(found) else None)


def _values(found: object, span: Span) -> tuple[ast.Name, ...]:
    """The values of an enum or a `Literal`. Raises `ProgramError`."""
    enum = enum_type(found)
    if enum is None:
        said = f'"{found.__name__}"' if is_enum(found) else "a Literal"
        detail, hint = "An enum of the language is one of a few texts.", 'write TCP = "tcp"'
        raise mistake("GHCM-132", f"{said} has values that are no strings", span, detail=detail, hint=hint)
    return tuple(ast.Name(text, span=span) for text in enum.values)


def declare_enum(found: type[Enum]) -> ast.EnumDecl:
    """The declaration that a class says. Raises `ProgramError`."""
    try:
        definition = Definition(inspect.getfile(found), found.__name__, inspect.getsourcelines(found)[1])
        whole, name = definition.whole, definition.name
    except (OSError, TypeError):  # a class that stands in no file
        whole = name = here()
    values = _values(found, name)
    return ast.EnumDecl(name_of(found.__name__, name), values, span=whole)


@dataclass(frozen=True, slots=True)
class _At:
    path: str | None
    unit: str | None


def at(path: str | None = None, *, unit: str | None = None) -> Any:
    """Where a field stands in the source's format, and what the numbers of a timestamp count, as its default:
    `src: str = at("id.orig_h")`, `seen: datetime = at(unit="ms")`.
    """
    return _At(path, unit)


def path_of(found: object) -> str | None:
    """The path that `at` says; None where it says none."""
    return found.path if isinstance(found, _At) else None


def _unit_of(found: object, span: Span) -> ast.Name | None:
    return name_of(found.unit, span) if isinstance(found, _At) and found.unit is not None else None


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """Where and when the class of a record or union was made."""

    order: int
    namespace: dict[str, Any]
    local: dict[str, Any]
    definition: Definition


def _made_here(cls: type) -> Made:
    frame = caller()
    definition = Definition(frame.f_code.co_filename, cls.__name__, frame.f_lineno)
    return Made(next_order(), frame.f_globals, dict(frame.f_locals), definition)


@dataclass_transform(kw_only_default=True, field_specifiers=(at,))
class Record:
    """A record of the program: `class Flow(Record): ts: datetime; src: str = at("id.orig_h"); label: str | None`.

    The class is the type; a call of it in a lambda, `Alarm(ts=f.ts)`, is a record's value.
    """

    __ghcm_made__: ClassVar[Made]

    def __init_subclass__(cls) -> None:
        cls.__ghcm_made__ = _made_here(cls)

    def __init__(self, *values: Any, **named: Any) -> None:
        self.__dict__["__ghcm_values__"] = (values, named, call_operands(here()))

    @classmethod
    def __ghcm_name__(cls, span: Span) -> ast.Expr:
        """The name of the record, once it is known."""
        return later(cls, span)

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        """The record's value with the fields that it was given."""
        values, named, operands = self.__dict__["__ghcm_values__"]
        names = _fields(type(self))
        if len(values) > len(names):
            message = f'"{type(self).__name__}" has {len(names)} fields and is given {len(values)} values'
            raise mistake("GHCM-133", message, operands.whole)
        beside = enumerate(zip(names, values, strict=False))
        given = [(name, value, operands.at(index)) for index, (name, value) in beside]
        own = {name: value for name, value in named.items() if not isinstance(name, FieldsOf)}
        given += [(name, value, operands.of(name)) for name, value in own.items()]
        fields = tuple((name_of(name, at), expr_of(value, at)) for name, value, at in given)
        taken = (value for name, value in named.items() if isinstance(name, FieldsOf))
        spreads = tuple(expr_of(value, operands.whole) for value in taken)
        return ast.RecordExpr(Later.of(type(self)), spreads, fields, span=operands.whole)


def made_in(namespace: dict[str, Any], kind: type[_Kind]) -> list[type[_Kind]]:
    """The records or unions of one module in the order in which they were made; of several of one name the last."""
    mine = [(each.__ghcm_made__.order, each) for each in _all(kind) if each.__ghcm_made__.namespace is namespace]
    last = {each.__name__: (order, each) for order, each in sorted(mine, key=itemgetter(0))}
    return [each for _, each in sorted(last.values(), key=itemgetter(0))]


def declare(record: type[Record]) -> ast.RecordDecl:
    """The declaration that a record's class says. Raises `ProgramError`."""
    definition = record.__ghcm_made__.definition
    fields: list[ast.FieldDecl] = []
    for name, annotation, path in parts_of(record):
        span = definition.field(name)
        default = getattr(record, name, None)
        if not isinstance(default, _At) and default is not None:
            hint = 'where it stands in the source is said by at("path")'
            raise mistake("GHCM-133", f'field "{name}" cannot have a default', span, hint=hint)
        unit = _unit_of(default, span)
        fields.append(ast.FieldDecl(name_of(name, span), type_of(annotation, span), path, unit, span=span))
    return ast.RecordDecl(name_of(record.__name__, definition.name), tuple(fields), span=definition.whole)


def parts_of(record: type[Record]) -> Iterator[tuple[str, object, str | None]]:
    """The fields of a record: name, annotation, path in the source. Raises `ProgramError`."""
    hints = _hints(record)
    for name in _fields(record):
        yield name, hints[name], path_of(getattr(record, name, None))


def _all(kind: type[_Kind]) -> Iterator[type[_Kind]]:
    for each in cast("list[Any]", kind.__subclasses__()):
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
        here = each.__ghcm_made__
        own = SimpleNamespace(__annotations__=inspect.get_annotations(each))
        found |= hints_of(own, here.definition.name, here.namespace, here.local)
    return found


class OneOf:
    """One of a few records: `class Event(OneOf, by="kind"): login: Login; logout: Logout = at("log-out")`.

    The tag, a field of the name `by`, says which; its text is the name of the annotation, or what `at` says.
    """

    __ghcm_made__: ClassVar[Made]
    __ghcm_tag__: ClassVar[str]

    def __init_subclass__(cls, by: str) -> None:
        cls.__ghcm_made__ = _made_here(cls)
        cls.__ghcm_tag__ = by

    @classmethod
    def __ghcm_name__(cls, span: Span) -> ast.Expr:
        """The name of the union, once it is known."""
        return later(cls, span)


def is_union(found: object) -> typing.TypeGuard[type[OneOf]]:
    """Whether it is a class that says a union."""
    return isinstance(found, type) and issubclass(found, OneOf)


def declare_union(union: type[OneOf]) -> ast.UnionDecl:
    """The declaration that a class says. Raises `ProgramError`."""
    definition = union.__ghcm_made__.definition
    variants = [
        ast.VariantDecl(ast.Name(text, span=span), ast.Name(Later.of(record), span=span), span=span)
        for text, record, span in variants_of(union)
    ]
    own_name, tag = (name_of(each, definition.name) for each in (union.__name__, union.__ghcm_tag__))
    return ast.UnionDecl(own_name, tag, tuple(variants), span=definition.whole)


def variants_of(union: type[OneOf]) -> Iterator[tuple[str, type[Record], Span]]:
    """The tags, records and source positions of a union. Raises `ProgramError`."""
    made = union.__ghcm_made__
    own = SimpleNamespace(__annotations__=inspect.get_annotations(union))
    hints = hints_of(own, made.definition.name, made.namespace, made.local)
    for name, record in hints.items():
        if name.startswith("__"):
            continue
        span = made.definition.field(name)
        if not (isinstance(record, type) and issubclass(record, Record)):
            hint = f"write {name}: Login, where Login is a Record"
            raise mistake("GHCM-132", f'"{name}" of a union is no record', span, hint=hint)
        yield path_of(getattr(union, name, None)) or name, record, span
