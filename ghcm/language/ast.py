"""The syntax tree that both front ends build: what was written, with its place, before any name has a meaning.

A pipeline is an expression like any other: `flows.filter(f => f.bytes > 0)` is an `Apply` of an `Attribute`. Which
names are
operators, functions, columns or units is decided by the lowering. Trees are equal when they say the same; places do
not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from ghcm.source import Span
from ghcm.types import Type

__all__ = [
    "Apply",
    "Argument",
    "Assign",
    "Attribute",
    "Binary",
    "CacheDecl",
    "Case",
    "Declaration",
    "Do",
    "Expr",
    "FieldDecl",
    "IfElse",
    "IsNull",
    "Lambda",
    "ListExpr",
    "Literal",
    "Match",
    "Name",
    "NamedType",
    "NullableType",
    "Parameter",
    "Program",
    "RecordDecl",
    "RecordExpr",
    "Ref",
    "SinkDecl",
    "Statement",
    "StructType",
    "TupleExpr",
    "TupleType",
    "TypeExpr",
    "Unary",
    "UnitDecl",
]

_Place: TypeAlias = Span | None


def _span() -> _Place:
    place: _Place = field(default=None, compare=False, repr=False)
    return place


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier where it is declared or given."""

    text: str
    span: _Place = _span()


# --- types as written ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedType:
    """`int`, `Flow`, `list<string>`, `map<string, int>`, `decimal(10, 2)`."""

    name: str
    arguments: tuple[TypeExpr | int, ...] = ()
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class NullableType:
    """`of?`."""

    of: TypeExpr
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class StructType:
    """`{a: int, b: string}`."""

    fields: tuple[FieldDecl, ...]
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class TupleType:
    """`(int, string)`."""

    items: tuple[TypeExpr, ...]
    span: _Place = _span()


TypeExpr: TypeAlias = NamedType | NullableType | StructType | TupleType


# --- expressions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: its canonical value (see `ghcm.types`) and type. `10s` is a duration of 10,000,000."""

    value: bool | int | float | str | None
    type: Type
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class Ref:
    """A bare name: a lambda parameter, an assignment, a sink, a unit, a function, a parameter of the unit."""

    name: str
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class Attribute:
    """`of.name`; `name_span` is the name alone."""

    of: Expr
    name: str
    span: _Place = _span()
    name_span: _Place = _span()


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call, by position (`name` None) or by name."""

    value: Expr
    name: str | None = None
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class Apply:
    """`function(arguments)`; `function` is a `Ref` (functions, sources, units) or an `Attribute` (operators, methods).

    `result` is the type behind the colon of `python("module:function", by = row) : Type`, else None.
    """

    function: Expr
    arguments: tuple[Argument, ...]
    result: TypeExpr | None = None
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`, `not x`."""

    op: OneOf["-", "not"]
    operand: Expr
    span: _Place = _span()


BinaryOp: TypeAlias = OneOf["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or", "??"]


@dataclass(frozen=True, slots=True)
class Binary:
    """`left op right`."""

    op: BinaryOp
    left: Expr
    right: Expr
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class IsNull:
    """`x is null`, `x is not null`."""

    operand: Expr
    negated: bool = False
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class IfElse:
    """`if condition then yes else no`."""

    condition: Expr
    yes: Expr
    no: Expr
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class Case:
    """One arm of a `match`: a literal pattern, or None for `_`."""

    pattern: Expr | None
    value: Expr
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class Match:
    """`match x { "a" => 1, _ => 0 }`."""

    subject: Expr
    cases: tuple[Case, ...]
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class TupleExpr:
    """`(a, b)`; at least two items."""

    items: tuple[Expr, ...]
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class ListExpr:
    """`[a, b]`."""

    items: tuple[Expr, ...]
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class RecordExpr:
    """`Alarm { ts: f.ts }`, or `{ ts: f.ts }` without a record's name (`name` None)."""

    name: str | None
    fields: tuple[tuple[Name, Expr], ...]
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class Lambda:
    """`x => body`, `(a, b) => body`, `() => body`; `claims` are the words of `@associative @commutative` before it."""

    parameters: tuple[Name, ...]
    body: Expr
    span: _Place = _span()
    claims: tuple[str, ...] = ()


Expr: TypeAlias = (
    Literal
    | Ref
    | Attribute
    | Apply
    | Unary
    | Binary
    | IsNull
    | IfElse
    | Match
    | TupleExpr
    | ListExpr
    | RecordExpr
    | Lambda
)


# --- statements and declarations -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """`name = value` in a unit; the name becomes the id of the value's last task."""

    name: Name
    value: Expr
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class Do:
    """A pipeline that ends in `to`, `publish` or `reply`."""

    value: Expr
    span: _Place = _span()


Statement: TypeAlias = Assign | Do


@dataclass(frozen=True, slots=True)
class FieldDecl:
    """`name: type from "path"`; `path` None where the source uses the same name."""

    name: Name
    type: TypeExpr
    path: str | None = None
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class RecordDecl:
    """`record Flow { ... }`."""

    name: Name
    fields: tuple[FieldDecl, ...]
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class CacheDecl:
    """`cache calls = kafka("topic")`."""

    name: Name
    connector: Expr
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class SinkDecl:
    """`sink shares = redis("place", key = r => r.key, mode = upsert)`."""

    name: Name
    connector: Expr
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class Parameter:
    """`depth: int = 3` of a responsive unit."""

    name: Name
    type: TypeExpr
    default: Expr | None = None
    span: _Place = _span()


@dataclass(frozen=True, slots=True)
class UnitDecl:
    """`responsive batch rebuild(since: timestamp) on rebuild_calls { ... }`; `cache` None gives the unit a cache of
    its own."""

    name: Name
    kind: OneOf["stream", "batch"]
    responsive: bool
    parameters: tuple[Parameter, ...]
    cache: Name | None
    body: tuple[Statement, ...]
    span: _Place = _span()


Declaration: TypeAlias = RecordDecl | CacheDecl | SinkDecl | UnitDecl


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program: its name and its declarations, in the order in which they stand."""

    name: Name
    declarations: tuple[Declaration, ...]
    span: _Place = _span()
