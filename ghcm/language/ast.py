"""The syntax tree that both front ends build: what was written, with its source position, before names have a meaning.

A pipeline is an expression like any other: `flows.filter(f => f.bytes > 0)` is an `Apply` of an `Attribute`. The
lowering decides which names are operators, functions, columns or units. Trees are equal when they say the same,
wherever they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from ghcm.source import Span
from ghcm.types import Type


@dataclass(frozen=True, slots=True)
class Node:
    """Whatever stands in a program; `span` is where, if that is known, and no part of what it says."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Name(Node):
    """An identifier where it is declared or given."""

    text: str


@dataclass(frozen=True, slots=True)
class NamedType(Node):
    """`int`, `Flow`, `list<string>`, `map<string, int>`, `decimal(10, 2)`."""

    name: str
    arguments: tuple[TypeExpr | int, ...] = ()


@dataclass(frozen=True, slots=True)
class NullableType(Node):
    """`of?`."""

    of: TypeExpr


@dataclass(frozen=True, slots=True)
class StructType(Node):
    """`{a: int, b: string}`."""

    fields: tuple[FieldDecl, ...]


@dataclass(frozen=True, slots=True)
class TupleType(Node):
    """`(int, string)`."""

    items: tuple[TypeExpr, ...]


@dataclass(frozen=True, slots=True)
class EnumType(Node):
    """`enum {tcp, "n/a"}`: one of these texts, without a name of its own."""

    values: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class FieldDecl(Node):
    """`name: type in unit from "path"`; `path` None where the source uses the same name, `unit` what the numbers of a
    timestamp count, None where nothing is said.
    """

    name: Name
    type: TypeExpr
    path: str | None = None
    unit: Name | None = None

    @property
    def counts(self) -> str:
        """The unit as it stands behind the type; empty where nothing is said."""
        return "" if self.unit is None else f" in {self.unit.text}"


TypeExpr: TypeAlias = NamedType | NullableType | StructType | TupleType | EnumType


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant: its canonical value (see `ghcm.types`) and type. `10s` is a duration of 10,000,000."""

    value: bool | int | float | str | None
    type: Type


@dataclass(frozen=True, slots=True)
class Ref(Node):
    """A bare name: a lambda parameter, an assignment, a sink, a unit, a function, a parameter of the unit."""

    name: str


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """`of.name`; `name_span` is the name alone."""

    of: Expr
    name: str
    name_span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """One argument of a call, by position (`name` None) or by name."""

    value: Expr
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """`function(arguments)`; `function` is a `Ref` (functions, sources, units) or an `Attribute` (operators, methods).

    `result` is the type behind the colon of `python("module:function", by = row) : Type`, else None.
    """

    function: Expr
    arguments: tuple[Argument, ...]
    result: TypeExpr | None = None


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`of[index]`: an item of a list, the value of a key."""

    of: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """`of[start:end]`; None where nothing stands."""

    of: Expr
    start: Expr | None
    end: Expr | None


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`-x`, `not x`."""

    op: OneOf["-", "not"]
    operand: Expr


BinaryOp: TypeAlias = OneOf[
    "+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or", "??", "in", "not in", "is", "is not",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """`left op right`; on the right of `is` and `is not` stands the name of a record, as a `Ref`."""

    op: BinaryOp
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """`x is null`, `x is not null`."""

    operand: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IfElse(Node):
    """`if condition then yes else no`."""

    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class Let(Node):
    """`let name = value in body`."""

    name: Name
    value: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Range(Node):
    """`1..9` as a pattern: what is not before `first` and not behind `last`."""

    first: Expr
    last: Expr


@dataclass(frozen=True, slots=True)
class BoundVariant(Node):
    """`Login l` as a pattern of a union: the record, under a name."""

    record: str
    name: Name


@dataclass(frozen=True, slots=True)
class AnyOf(Node):
    """`"a" or "b"` as a pattern; at least two."""

    patterns: tuple[Expr | Range | BoundVariant, ...]


Pattern: TypeAlias = "Expr | Range | BoundVariant | AnyOf"


@dataclass(frozen=True, slots=True)
class Case(Node):
    """One arm of a `match`: constants that it is for, or None for `_`."""

    pattern: Pattern | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Match(Node):
    """`match x { "a" => 1, _ => 0 }`."""

    subject: Expr
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class TupleExpr(Node):
    """`(a, b)`; at least two items."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ListExpr(Node):
    """`[a, b]`."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class RecordExpr(Node):
    """`Alarm { ts: f.ts }`, or `{ ts: f.ts }` without a record's name (`name` None); `spreads` are the records of which
    `{ ...f, ts: 0 }` takes the fields before its own.
    """

    name: str | None
    spreads: tuple[Expr, ...]
    fields: tuple[tuple[Name, Expr], ...]


@dataclass(frozen=True, slots=True)
class Update(Node):
    """`of with { bytes: 0 }`: a record with other values in some of its fields."""

    of: Expr
    fields: tuple[tuple[Name, Expr], ...]


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """`x => body`, `(a, b) => body`, `() => body`; `claims` are the words of `@associative @commutative` before it."""

    parameters: tuple[Name, ...]
    body: Expr
    claims: tuple[str, ...] = ()


Expr: TypeAlias = (
    Literal | Ref | Attribute | Apply | Index | Slice | Unary | Binary | IsNull | IfElse | Let | Match | TupleExpr
    | ListExpr | RecordExpr | Update | Lambda
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """`name = value` in a unit; the name becomes the id of the value's last task."""

    name: Name
    value: Expr


@dataclass(frozen=True, slots=True)
class Do(Node):
    """A pipeline that ends in `to`, `publish` or `reply`."""

    value: Expr


Statement: TypeAlias = Assign | Do


@dataclass(frozen=True, slots=True)
class RecordDecl(Node):
    """`record Flow { ... }`."""

    name: Name
    fields: tuple[FieldDecl, ...]


@dataclass(frozen=True, slots=True)
class EnumDecl(Node):
    """`enum Proto { tcp, udp, "n/a" }`: the name of a value is its text, which need not be a name."""

    name: Name
    values: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class VariantDecl(Node):
    """`login: Login` of a union: the tag's text, which is the record's name where none is written, and the record."""

    text: Name
    record: Name


@dataclass(frozen=True, slots=True)
class UnionDecl(Node):
    """`union Event by kind { login: Login, Logout }`: one of these records; the field `tag` says which."""

    name: Name
    tag: Name
    variants: tuple[VariantDecl, ...]


@dataclass(frozen=True, slots=True)
class CacheDecl(Node):
    """`cache calls = kafka("topic")`."""

    name: Name
    connector: Expr


@dataclass(frozen=True, slots=True)
class SinkDecl(Node):
    """`sink shares = redis("place", key = r => r.key, mode = upsert)`."""

    name: Name
    connector: Expr


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """`depth: int = 3` of a responsive unit."""

    name: Name
    type: TypeExpr
    default: Expr | None = None


@dataclass(frozen=True, slots=True)
class FunctionDecl(Node):
    """`function half(x: int?) : int? = x // 2`."""

    name: Name
    parameters: tuple[Parameter, ...]
    result: TypeExpr
    body: Expr


@dataclass(frozen=True, slots=True)
class UnitDecl(Node):
    """`responsive batch rebuild(since: timestamp) on rebuild_calls engine = native { ... }`; `cache` None gives the
    unit a cache of its own, `engine` None leaves to GHCM who runs it, and `parallelism` None how many instances tasks
    have, as a stream may say: `stream flows parallelism = 2 { ... }`."""

    name: Name
    kind: OneOf["stream", "batch"]
    responsive: bool
    parameters: tuple[Parameter, ...]
    cache: Name | None
    body: tuple[Statement, ...]
    engine: Name | None = None
    parallelism: Literal | None = None


Declaration: TypeAlias = RecordDecl | EnumDecl | UnionDecl | CacheDecl | SinkDecl | FunctionDecl | UnitDecl


@dataclass(frozen=True, slots=True)
class Program(Node):
    """A whole program: its name and its declarations, in the order in which they stand."""

    name: Name
    declarations: tuple[Declaration, ...]
