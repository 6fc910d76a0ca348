"""The syntax tree that both front ends build: what was written, with its source position, before names have a meaning.

A pipeline is an expression like any other: `flows.filter(f => f.bytes > 0)` is an `Apply` of an `Attribute`. The
lowering decides which names are operators, functions, columns or units. Trees are equal when they say the same,
wherever they stand.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, TypeGuard

from ghcm.language.ast.declarations import (
    Assign,
    CacheDecl,
    Declaration,
    Do,
    EnumDecl,
    FunctionDecl,
    Parameter,
    Program,
    RecordDecl,
    SinkDecl,
    Statement,
    UnionDecl,
    UnitDecl,
    VariantDecl,
)
from ghcm.language.ast.expressions import (
    AnyOf,
    Apply,
    Argument,
    Attribute,
    Binary,
    BinaryOp,
    BoundVariant,
    Case,
    EnumType,
    Expr,
    FieldDecl,
    IfElse,
    Index,
    IsNull,
    Lambda,
    Let,
    ListExpr,
    Literal,
    Match,
    Name,
    NamedType,
    NullableType,
    Pattern,
    Range,
    RecordExpr,
    Ref,
    Slice,
    StructType,
    TupleExpr,
    TupleType,
    TypeExpr,
    Unary,
    Update,
)

__all__ = [
    "NODES",
    "PARTS",
    "AnyOf",
    "Apply",
    "Argument",
    "Assign",
    "Attribute",
    "Binary",
    "BinaryOp",
    "BoundVariant",
    "CacheDecl",
    "Case",
    "Declaration",
    "Do",
    "EnumDecl",
    "EnumType",
    "Expr",
    "FieldDecl",
    "FunctionDecl",
    "IfElse",
    "Index",
    "IsNull",
    "Lambda",
    "Let",
    "ListExpr",
    "Literal",
    "Match",
    "Name",
    "NamedType",
    "NullableType",
    "Parameter",
    "Pattern",
    "Program",
    "Range",
    "RecordDecl",
    "RecordExpr",
    "Ref",
    "SinkDecl",
    "Slice",
    "Statement",
    "StructType",
    "TupleExpr",
    "TupleType",
    "TypeExpr",
    "Unary",
    "UnionDecl",
    "UnitDecl",
    "Update",
    "VariantDecl",
    "is_tree",
]


NODES = frozenset(each for each in tuple(globals().values()) if isinstance(each, type) and is_dataclass(each))
"""Every class of nodes."""

PARTS: dict[type, tuple[str, ...]] = {
    each: tuple(field.name for field in fields(each) if field.compare) for each in NODES
}
"""The fields of each class of node that say something, in the order in which they are written: without positions."""


def is_tree(node: object) -> TypeGuard[Any]:
    """Whether it is a node of a syntax tree."""
    return type(node) in NODES
