"""Unions of records in Python: `class Event(OneOf, by="kind"): login: Login` is `union Event by kind {...}`."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

from ghcm.language import ast
from ghcm.language.fluent.definitions import definition
from ghcm.language.fluent.places import caller
from ghcm.language.fluent.problems import mistake
from ghcm.language.fluent.records import Made, Record, place_of
from ghcm.language.fluent.references import Later, later, next_order
from ghcm.language.fluent.values import name_of
from ghcm.source import Span


class OneOf:
    """One of a few records: `class Event(OneOf, by="kind"): login: Login; logout: Logout = at("log-out")`.

    The tag, a field of the name `by`, says which; its text is the name of the annotation, or what `at` says.
    """

    __ghcm_made__: ClassVar[Made]
    __ghcm_tag__: ClassVar[str]

    def __init_subclass__(cls, by: str) -> None:
        frame = caller()
        place = definition(frame.f_code.co_filename, cls.__name__, frame.f_lineno)
        cls.__ghcm_made__ = Made(next_order(), frame.f_globals, dict(frame.f_locals), place)
        cls.__ghcm_tag__ = by

    @classmethod
    def __ghcm_name__(cls, span: Span) -> ast.Expr:
        """The name of the union, once it is known."""
        return later(cls, span)


def is_union(found: object) -> typing.TypeGuard[type[OneOf]]:
    """Whether it is a class that says a union."""
    return isinstance(found, type) and issubclass(found, OneOf)


def unions_of(namespace: dict[str, Any]) -> list[type[OneOf]]:
    """The unions of one module in the order in which they were made; of several of one name the last."""
    mine = [each for each in OneOf.__subclasses__() if each.__ghcm_made__.namespace is namespace]
    return list({each.__name__: each for each in sorted(mine, key=lambda each: each.__ghcm_made__.order)}.values())


def declare_union(union: type[OneOf]) -> ast.UnionDecl:
    """The declaration that a class says. Raises `ProgramError`."""
    place = union.__ghcm_made__.place
    variants = [
        ast.VariantDecl(ast.Name(text, span), ast.Name(Later.of(record), span), span)
        for text, record, span in variants_of(union)
    ]
    own_name, tag = (name_of(each, place.name) for each in (union.__name__, union.__ghcm_tag__))
    return ast.UnionDecl(own_name, tag, tuple(variants), place.whole)


def variants_of(union: type[OneOf]) -> Iterator[tuple[str, type[Record], Span]]:
    """The tags, records and places of a union. Raises `ProgramError`."""
    made = union.__ghcm_made__
    own = SimpleNamespace(__annotations__=inspect.get_annotations(union))
    try:
        hints: dict[str, Any] = typing.get_type_hints(own, made.namespace, made.local)
    except NameError as error:
        message = f'"{error.name}" is not defined'
        raise mistake("GHCM-132", message, made.place.name, detail="An annotation names it.") from None
    for name, record in hints.items():
        if name.startswith("__"):
            continue
        span = made.place.field(name)
        if not (isinstance(record, type) and issubclass(record, Record)):
            hint = f"write {name}: Login, where Login is a Record"
            raise mistake("GHCM-132", f'"{name}" of a union is no record', span, hint=hint)
        yield place_of(getattr(union, name, None)) or name, record, span
