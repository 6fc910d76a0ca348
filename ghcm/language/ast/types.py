"""Types as written, before any name has a meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ghcm.language.ast.names import Name, Place, no_span


@dataclass(frozen=True, slots=True)
class NamedType:
    """`int`, `Flow`, `list<string>`, `map<string, int>`, `decimal(10, 2)`."""

    name: str
    arguments: tuple[TypeExpr | int, ...] = ()
    span: Place = no_span()


@dataclass(frozen=True, slots=True)
class NullableType:
    """`of?`."""

    of: TypeExpr
    span: Place = no_span()


@dataclass(frozen=True, slots=True)
class StructType:
    """`{a: int, b: string}`."""

    fields: tuple[FieldDecl, ...]
    span: Place = no_span()


@dataclass(frozen=True, slots=True)
class TupleType:
    """`(int, string)`."""

    items: tuple[TypeExpr, ...]
    span: Place = no_span()


@dataclass(frozen=True, slots=True)
class EnumType:
    """`enum {tcp, "n/a"}`: one of these texts, without a name of its own."""

    values: tuple[Name, ...]
    span: Place = no_span()


@dataclass(frozen=True, slots=True)
class FieldDecl:
    """`name: type from "path"`; `path` None where the source uses the same name."""

    name: Name
    type: TypeExpr
    path: str | None = None
    span: Place = no_span()


TypeExpr: TypeAlias = NamedType | NullableType | StructType | TupleType | EnumType
