"""Types as canonical text."""

from __future__ import annotations

from typing import assert_never

from ghcm.language import ast
from ghcm.language.literals import print_string
from ghcm.language.words import RESERVED


def flat_type(type_: ast.TypeExpr) -> str:
    """A type on one line."""
    match type_:
        case ast.NamedType(name=name, arguments=()):
            return name
        case ast.NamedType(name=name, arguments=arguments):
            inner = ", ".join(str(item) if isinstance(item, int) else flat_type(item) for item in arguments)
            return f"{name}({inner})" if isinstance(arguments[0], int) else f"{name}<{inner}>"
        case ast.NullableType(of=of):
            return f"{flat_type(of)}?"
        case ast.StructType(fields=fields):
            return "{" + ", ".join(map(flat_field, fields)) + "}"
        case ast.TupleType(items=items):
            return f"({', '.join(map(flat_type, items))})"
        case ast.EnumType(values=values):
            return f"enum {{{', '.join(map(flat_value, values))}}}"
        case _:
            assert_never(type_)


def flat_value(value: ast.Name) -> str:
    """A value of an enum: bare where it is a name."""
    bare = value.text.isascii() and value.text.isidentifier() and value.text not in RESERVED and value.text != "_"
    return value.text if bare else print_string(value.text)


def flat_field(field: ast.FieldDecl) -> str:
    """A field on one line."""
    place = "" if field.path is None else f" from {print_string(field.path)}"
    return f"{field.name.text}: {flat_type(field.type)}{place}"
