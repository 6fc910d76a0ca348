"""What the emitters of jobs share: what they may ask of the expression around them, and the usual calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ghcm.expr import Call, Expr
from ghcm.types import Type, strip

__all__ = ["Emit", "Writer", "by_first", "plain", "same"]


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


def same(writer: Writer, call: Call) -> str:
    """The first argument itself."""
    return writer.emit(call.arguments[0])
