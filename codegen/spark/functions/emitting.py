"""What the emitters of jobs share: what they may ask of the expression around them, and the texts of the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Protocol

from ghcm.codegen.expressions import call_can_fail, constant
from ghcm.codegen.spark.library.sql import fails
from ghcm.codegen.spark.library.sql import text as quoted_text
from ghcm.codegen.spark.sql import Checked, given, partial
from ghcm.expr import Call, Expr
from ghcm.functions import FUNCTIONS, chosen
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


def written(writer: Writer, call: Call) -> Checked:
    """A call as the table of functions writes it in SQL, with an error for the records that fail."""
    function = FUNCTIONS[call.function]
    safe = not call_can_fail(call)
    text = chosen(function.spark, kind(call), len(call.arguments), safe=safe)
    assert isinstance(text, str), f"no text of {call.function} of {kind(call)}"
    mentioned = [int(slot[1]) for slot in _SLOT.finditer(text) if slot[1].isdigit()]
    found = {index: writer.emit(each) for index, each in enumerate(call.arguments) if index in mentioned}
    if text == "{0}":
        return found[0]
    value = _filled(text, call, found)
    failures = () if safe else function.spark_fails
    errors = [fails(_filled(when, call, found, value), why.value, detail) for when, why, detail in failures]
    return partial(value, found.values(), *errors)


_SLOT = re.compile(r"\{(\d|given|value|pattern)(?::(whole))?(?:\|([^{}]*))?\}")


def _filled(text: str, call: Call, found: Mapping[int, Checked], value: str = "") -> str:
    def fill(slot: re.Match[str]) -> str:
        match slot[1]:
            case "given":
                return "".join(f"{condition} AND " for condition in given(*found.values()))
            case "value":
                return value
            case "pattern":
                pattern = constant_text(call, 1)
                return quoted_text(java_pattern(f"^(?:{pattern})$" if slot[2] else pattern))
            case index:
                return str(found[int(index)]) if int(index) in found else slot[3]

    return _SLOT.sub(fill, text)


def java_pattern(pattern: str) -> str:
    r"""The pattern for Java: what the lowering leaves reads alike but for `$`, which Java writes `\z`.

    >>> java_pattern("a[$]\\$b$")
    'a[$]\\$b\\z'
    """
    return re.sub(
        r"\\.|\[\^?\]?(?:\\.|[^\]])*\]|\$", lambda part: r"\z" if part[0] == "$" else part[0], pattern, flags=re.S
    )


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
