"""What the emitters of jobs share: what they may ask of the expression around them, and the usual calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ghcm.codegen.expressions import constant
from ghcm.codegen.spark.sql import Checked
from ghcm.expr import Call, Expr
from ghcm.types import Type, strip


class Writer(Protocol):
    """Writes the expression around a call."""

    def emit(self, expr: Expr) -> Checked:
        """An expression as SQL."""
        ...

    def json_function(self, kind: str, type_: Type) -> str:
        """The name of the Python function that reads or writes JSON texts of a type, which the job makes known."""
        ...


Emit = Callable[[Writer, Call], Checked]
"""A call of the language as SQL."""


def plain(write: Callable[..., Checked]) -> Emit:
    """SQL of all arguments."""
    return lambda writer, call: write(*map(writer.emit, call.arguments))


def typed(write: Callable[..., Checked]) -> Emit:
    """SQL of all arguments and the type of the result."""
    return lambda writer, call: write(*map(writer.emit, call.arguments), strip(call.type))


def made(write: Callable[..., Checked]) -> Emit:
    """SQL of the first argument, its type and the type of the result."""
    return lambda writer, call: write(writer.emit(call.arguments[0]), strip(call.arguments[0].type), strip(call.type))


def by_kind(kinds: Mapping[type[Type], Emit], other: Emit) -> Emit:
    """The emitter that the type of the first argument asks for."""
    return lambda writer, call: kinds.get(type(kind(call)), other)(writer, call)


def same(writer: Writer, call: Call) -> Checked:
    """The first argument itself."""
    return writer.emit(call.arguments[0])


def kind(call: Call) -> Type:
    """The type of the first argument."""
    return strip(call.arguments[0].type)


def constant_text(call: Call, index: int) -> str:
    """An argument that the lowering takes as a constant text only."""
    value = constant(call.arguments[index])
    assert isinstance(value, str), "the lowering takes constants only"
    return value
