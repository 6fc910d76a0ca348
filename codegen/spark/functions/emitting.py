"""What the emitters of jobs share: what they may ask of the expression around them, and the usual calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ghcm.expr import Call, Expr
from ghcm.types import Type, strip


class Writer(Protocol):
    """Writes the expression around a call."""

    def emit(self, expr: Expr) -> str:
        """An expression as a call of helpers."""
        ...

    def call(self, name: str, *arguments: str) -> str:
        """A call of a helper."""
        ...

    def type(self, type_: Type) -> str:
        """A type as the job writes it."""
        ...


Emit = Callable[[Writer, Call], str]
"""A call of the language as a call of helpers."""


def plain(name: str) -> Emit:
    """The helper of that name on all arguments."""
    return lambda writer, call: writer.call(name, *map(writer.emit, call.arguments))


def by_first(**names: str) -> Emit:
    """The helper that the type of the first argument asks for."""

    def emit(writer: Writer, call: Call) -> str:
        kind = type(strip(call.arguments[0].type)).__name__
        return writer.call(names.get(kind, names.get("other", "")), *map(writer.emit, call.arguments))

    return emit


def typed(name: str) -> Emit:
    """The helper of that name on all arguments and the type of the result."""
    return lambda writer, call: writer.call(name, *map(writer.emit, call.arguments), writer.type(strip(call.type)))


def made(name: str) -> Emit:
    """The helper of that name on the first argument, its type and the type of the result."""

    def emit(writer: Writer, call: Call) -> str:
        first = call.arguments[0]
        return writer.call(name, writer.emit(first), writer.type(strip(first.type)), writer.type(strip(call.type)))

    return emit


def by_kind(kinds: Mapping[type[Type], Emit], other: Emit) -> Emit:
    """The emitter that the type of the first argument asks for."""
    return lambda writer, call: kinds.get(type(strip(call.arguments[0].type)), other)(writer, call)


def same(writer: Writer, call: Call) -> str:
    """The first argument itself."""
    return writer.emit(call.arguments[0])
