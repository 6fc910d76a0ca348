"""Enums of Python: `class Proto(Enum): TCP = "tcp"` is `enum Proto { tcp }`, `Literal["in", "out"]` has no name."""

from __future__ import annotations

import inspect
import typing
from enum import Enum

from ghcm.language import ast
from ghcm.language.fluent.definitions import definition
from ghcm.language.fluent.places import here
from ghcm.language.fluent.problems import mistake
from ghcm.language.fluent.values import name_of
from ghcm.source import Span
from ghcm.types import Enumeration


def is_enum(found: object) -> typing.TypeGuard[type[Enum]]:
    """Whether it is a class of Python's enums."""
    return isinstance(found, type) and issubclass(found, Enum)


def is_literal(annotation: object) -> bool:
    """Whether it is `Literal[...]`."""
    return typing.get_origin(annotation) is typing.Literal


def texts_of(annotation: object) -> tuple[str, ...] | None:
    """The values of an enum, or of a `Literal`; None where they are no strings."""
    values: tuple[object, ...] = (
        tuple(member.value for member in annotation) if is_enum(annotation) else typing.get_args(annotation)
    )
    texts = tuple(value for value in values if isinstance(value, str))
    return texts if texts and len(texts) == len(values) else None


def enum_type(found: object) -> Enumeration | None:
    """The type that an enum or a `Literal` says; None where its values are no strings."""
    texts = texts_of(found)
    return None if texts is None else Enumeration(texts, found.__name__ if is_enum(found) else None)


def literal_type(annotation: object, span: Span) -> ast.EnumType:
    """The type that `Literal["in", "out"]` means. Raises `ProgramError`."""
    texts = texts_of(annotation)
    if texts is None:
        raise _no_strings("a Literal", span)
    return ast.EnumType(tuple(ast.Name(text, span) for text in texts), span)


def declare_enum(found: type[Enum]) -> ast.EnumDecl:
    """The declaration that a class says. Raises `ProgramError`."""
    try:
        place = definition(inspect.getfile(found), found.__name__, inspect.getsourcelines(found)[1])
        whole, name = place.whole, place.name
    except (OSError, TypeError):  # a class that stands in no file
        whole = name = here()
    texts = texts_of(found)
    if texts is None:
        raise _no_strings(f'"{found.__name__}"', name)
    return ast.EnumDecl(name_of(found.__name__, name), tuple(ast.Name(text, name) for text in texts), whole)


def _no_strings(what: str, span: Span) -> Exception:
    detail = "An enum of the language is one of a few texts."
    return mistake("GHCM-132", f"{what} has values that are no strings", span, detail=detail, hint='write TCP = "tcp"')
