"""Names, types, expressions and patterns as written, with their source positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from ghcm.source import Span
from ghcm.types import Type

Position: TypeAlias = Span | None


def no_span() -> Position:
    """The default of a position: unknown, and no part of what a node says."""
    position: Position = field(default=None, compare=False, repr=False)
    return position


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier where it is declared or given."""

    text: str
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class NamedType:
    """`int`, `Flow`, `list<string>`, `map<string, int>`, `decimal(10, 2)`."""

    name: str
    arguments: tuple[TypeExpr | int, ...] = ()
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class NullableType:
    """`of?`."""

    of: TypeExpr
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class StructType:
    """`{a: int, b: string}`."""

    fields: tuple[FieldDecl, ...]
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class TupleType:
    """`(int, string)`."""

    items: tuple[TypeExpr, ...]
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class EnumType:
    """`enum {tcp, "n/a"}`: one of these texts, without a name of its own."""

    values: tuple[Name, ...]
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class FieldDecl:
    """`name: type from "path"`; `path` None where the source uses the same name."""

    name: Name
    type: TypeExpr
    path: str | None = None
    span: Position = no_span()


TypeExpr: TypeAlias = NamedType | NullableType | StructType | TupleType | EnumType


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: its canonical value (see `ghcm.types`) and type. `10s` is a duration of 10,000,000."""

    value: bool | int | float | str | None
    type: Type
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Ref:
    """A bare name: a lambda parameter, an assignment, a sink, a unit, a function, a parameter of the unit."""

    name: str
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Attribute:
    """`of.name`; `name_span` is the name alone."""

    of: Expr
    name: str
    span: Position = no_span()
    name_span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call, by position (`name` None) or by name."""

    value: Expr
    name: str | None = None
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Apply:
    """`function(arguments)`; `function` is a `Ref` (functions, sources, units) or an `Attribute` (operators, methods).

    `result` is the type behind the colon of `python("module:function", by = row) : Type`, else None.
    """

    function: Expr
    arguments: tuple[Argument, ...]
    result: TypeExpr | None = None
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Index:
    """`of[index]`: an item of a list, the value of a key."""

    of: Expr
    index: Expr
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Slice:
    """`of[start:end]`; None where nothing stands."""

    of: Expr
    start: Expr | None
    end: Expr | None
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`, `not x`."""

    op: OneOf["-", "not"]
    operand: Expr
    span: Position = no_span()


BinaryOp: TypeAlias = OneOf[
    "+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or", "??", "in", "not in", "is", "is not",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Binary:
    """`left op right`; on the right of `is` and `is not` stands the name of a record, as a `Ref`."""

    op: BinaryOp
    left: Expr
    right: Expr
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class IsNull:
    """`x is null`, `x is not null`."""

    operand: Expr
    negated: bool = False
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class IfElse:
    """`if condition then yes else no`."""

    condition: Expr
    yes: Expr
    no: Expr
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Let:
    """`let name = value in body`."""

    name: Name
    value: Expr
    body: Expr
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Range:
    """`1..9` as a pattern: what is not before `first` and not behind `last`."""

    first: Expr
    last: Expr
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class BoundVariant:
    """`Login l` as a pattern of a union: the record, under a name."""

    record: str
    name: Name
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """`"a" or "b"` as a pattern; at least two."""

    patterns: tuple[Expr | Range | BoundVariant, ...]
    span: Position = no_span()


Pattern: TypeAlias = "Expr | Range | BoundVariant | AnyOf"


@dataclass(frozen=True, slots=True)
class Case:
    """One arm of a `match`: constants that it is for, or None for `_`."""

    pattern: Pattern | None
    value: Expr
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Match:
    """`match x { "a" => 1, _ => 0 }`."""

    subject: Expr
    cases: tuple[Case, ...]
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class TupleExpr:
    """`(a, b)`; at least two items."""

    items: tuple[Expr, ...]
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class ListExpr:
    """`[a, b]`."""

    items: tuple[Expr, ...]
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class RecordExpr:
    """`Alarm { ts: f.ts }`, or `{ ts: f.ts }` without a record's name (`name` None)."""

    name: str | None
    fields: tuple[tuple[Name, Expr], ...]
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Update:
    """`of with { bytes: 0 }`: a record with other values in some of its fields."""

    of: Expr
    fields: tuple[tuple[Name, Expr], ...]
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Lambda:
    """`x => body`, `(a, b) => body`, `() => body`; `claims` are the words of `@associative @commutative` before it."""

    parameters: tuple[Name, ...]
    body: Expr
    span: Position = no_span()
    claims: tuple[str, ...] = ()


Expr: TypeAlias = (
    Literal
    | Ref
    | Attribute
    | Apply
    | Index
    | Slice
    | Unary
    | Binary
    | IsNull
    | IfElse
    | Let
    | Match
    | TupleExpr
    | ListExpr
    | RecordExpr
    | Update
    | Lambda
)
