"""How the classes of the SPG are built, read off their annotations: what the JSON form and the text form are driven by.

A form says what may stand in a field. The classes that can be reached from `Program` are all that either form knows, so
the set is closed and no name in a file can make another class.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from ghcm.types import Type


@dataclass(frozen=True, slots=True)
class Plain:
    """A bool, int, float or str of exactly that Python type."""

    type: type


@dataclass(frozen=True, slots=True)
class EnumOf:
    """A member of an enumeration, written as its value."""

    type: type[Enum]


@dataclass(frozen=True, slots=True)
class TypeOf:
    """A type of the language."""


@dataclass(frozen=True, slots=True)
class Anything:
    """A canonical value whose type stands elsewhere; it is written so that it explains itself."""


@dataclass(frozen=True, slots=True)
class Optional:
    """Nothing, or what `of` says."""

    of: Form


@dataclass(frozen=True, slots=True)
class Many:
    """A tuple of any length."""

    of: Form


@dataclass(frozen=True, slots=True)
class Each:
    """A tuple of fixed length."""

    of: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """An instance of one of these classes, by name."""

    classes: tuple[type, ...]

    def named(self, name: str) -> type:
        """The class of that name; ValueError if it is none of the choice."""
        for each in self.classes:
            if each.__name__ == name:
                return each
        raise ValueError(f'"{name}" is none of {", ".join(each.__name__ for each in self.classes)}')


Form: TypeAlias = Plain | EnumOf | TypeOf | Anything | Optional | Many | Each | Choice


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a class: its name, what may stand in it, and its default (`MISSING` if it has none)."""

    name: str
    form: Form
    default: Any

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING

    def is_default(self, value: object) -> bool:
        """Whether the value is the default, so that it need not be written."""
        return not self.required and type(value) is type(self.default) and value == self.default


_TYPES: frozenset[Any] = frozenset(get_args(Type))


@cache
def parts_of(class_: type) -> tuple[Part, ...]:
    """The fields of a dataclass of the SPG, in order."""
    from ghcm.spg.graph import Task  # which holds the operations, one of which holds tasks

    hints = get_type_hints(class_, localns={"Task": Task})
    return tuple(Part(each.name, form_of(hints[each.name]), each.default) for each in fields(class_) if each.init)


def form_of(annotation: Any) -> Form:
    """What an annotation allows; TypeError for one that the SPG does not use."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is object:
        return Anything()
    if annotation in (bool, int, float, str) or origin is Literal:
        return Plain(str if origin is Literal else annotation)
    if origin is Union or origin is types.UnionType:
        return _union(arguments)
    if origin is tuple:
        return Many(form_of(arguments[0])) if arguments[-1] is ... else Each(tuple(map(form_of, arguments)))
    if annotation in _TYPES:
        return TypeOf()
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return EnumOf(annotation)
    if isinstance(annotation, type) and is_dataclass(cast("type[object]", annotation)):
        return Choice((annotation,))
    raise TypeError(f"no form for the annotation {annotation}")


def _union(arguments: tuple[Any, ...]) -> Form:
    some = tuple(each for each in arguments if each is not types.NoneType)
    if len(some) < len(arguments):
        return Optional(_union(some) if len(some) > 1 else form_of(next(iter(some))))
    if all(each in _TYPES for each in some):
        return TypeOf()
    return Choice(tuple(_classes(some)))


def _classes(arguments: tuple[Any, ...]) -> Iterator[type]:
    for each in arguments:
        form = form_of(each)
        if not isinstance(form, Choice):
            raise TypeError(f"a union of the SPG holds classes only, not {each}")
        yield from form.classes
