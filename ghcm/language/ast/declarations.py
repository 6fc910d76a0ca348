"""Statements, declarations and the whole program as written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from ghcm.language.ast.expressions import Expr, FieldDecl, Name, Position, TypeExpr, no_span


@dataclass(frozen=True, slots=True)
class Assign:
    """`name = value` in a unit; the name becomes the id of the value's last task."""

    name: Name
    value: Expr
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Do:
    """A pipeline that ends in `to`, `publish` or `reply`."""

    value: Expr
    span: Position = no_span()


Statement: TypeAlias = Assign | Do


@dataclass(frozen=True, slots=True)
class RecordDecl:
    """`record Flow { ... }`."""

    name: Name
    fields: tuple[FieldDecl, ...]
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class EnumDecl:
    """`enum Proto { tcp, udp, "n/a" }`: the name of a value is its text, which need not be a name."""

    name: Name
    values: tuple[Name, ...]
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class VariantDecl:
    """`login: Login` of a union: the tag's text, which is the record's name where none is written, and the record."""

    text: Name
    record: Name
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class UnionDecl:
    """`union Event by kind { login: Login, Logout }`: one of these records; the field `tag` says which."""

    name: Name
    tag: Name
    variants: tuple[VariantDecl, ...]
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class CacheDecl:
    """`cache calls = kafka("topic")`."""

    name: Name
    connector: Expr
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class SinkDecl:
    """`sink shares = redis("place", key = r => r.key, mode = upsert)`."""

    name: Name
    connector: Expr
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class Parameter:
    """`depth: int = 3` of a responsive unit."""

    name: Name
    type: TypeExpr
    default: Expr | None = None
    span: Position = no_span()


@dataclass(frozen=True, slots=True)
class FunctionDecl:
    """`function half(x: int?) : int? = x // 2`."""

    name: Name
    parameters: tuple[Parameter, ...]
    result: TypeExpr
    body: Expr
    span: Position = no_span()


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
    span: Position = no_span()


Declaration: TypeAlias = RecordDecl | EnumDecl | UnionDecl | CacheDecl | SinkDecl | FunctionDecl | UnitDecl


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program: its name and its declarations, in the order in which they stand."""

    name: Name
    declarations: tuple[Declaration, ...]
    span: Position = no_span()
