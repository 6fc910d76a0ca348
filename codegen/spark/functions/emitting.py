"""What the emitters of jobs share: what they may ask of the expression around them, and the texts of the table."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ghcm.codegen.spark.library.sql import failing, when
from ghcm.codegen.spark.library.sql import text as quoted_text
from ghcm.codegen.spark.names import variable
from ghcm.codegen.spark.sql import Checked, all_of, ddl, given, partial
from ghcm.expr import Call, Expr
from ghcm.failing import call_can_fail, constant
from ghcm.functions import FUNCTIONS, text_for
from ghcm.functions.table import SqlFailure, choose
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
    function, count, safe = FUNCTIONS[call.function], len(call.arguments), not call_can_fail(call)
    text = text_for(function.spark, kind(call), count, safe=safe)
    assert isinstance(text, str), f"no text of {call.function} of {kind(call)}"
    failures = function.spark_fails
    if isinstance(failures, Mapping):
        failures = choose(failures, kind(call), count, safe=safe) or ()
    return filled(writer, call, text, () if safe else failures)


def filled(writer: Writer, call: Call, text: str, failures: Sequence[SqlFailure]) -> Checked:
    """A call as such a text, with an error for the records that fail."""
    texts = [text, *(each for condition, _, detail in failures for each in (condition, detail))]
    mentioned = {int(slot[1]) for each in texts for slot in _SLOT.finditer(each) if slot[1].isdigit()}
    found = {index: writer.emit(each) for index, each in enumerate(call.arguments) if index in mentioned}
    if text == "{0}" and not failures:
        return found[0]
    guarded = text.removeprefix("{given:then}")
    value = _filled(guarded, call, found)
    if guarded != text and (conditions := given(*found.values())):
        value = when(all_of(*conditions), value)
    errors = [
        failing(_filled(condition, call, found, value), _detail(f"{why.value}: {detail}", found))
        for condition, why, detail in failures
    ]
    return partial(value, found.values(), *errors)


_SLOT = re.compile(r"\{(\d|given|value|pattern|type|each)(?::(\w+))?(?:\|([^{}]*))?\}")


def _filled(text: str, call: Call, found: Mapping[int, Checked], value: str = "") -> str:
    each: list[str] = []

    def fill(slot: re.Match[str]) -> str:
        match slot[1], slot[2]:
            case ("given", _) | (_, "given" | "after"):
                conditions = given(*(found.values() if slot[1] == "given" else [found[int(slot[1])]]))
                return "".join(f" AND {one}" if slot[2] == "after" else f"{one} AND " for one in conditions)
            case "value", _:
                return value
            case "type", _:
                return ddl(call.type)
            case "each", _:
                each[:] = each or [variable()]
                return each[0]
            case "pattern", way:
                pattern = constant_text(call, 1)
                return quoted_text(java_pattern(f"^(?:{pattern})$" if way else pattern))
            case index, _:
                return str(found[int(index)]) if int(index) in found else slot[3]

    return _SLOT.sub(fill, text)


def _detail(text: str, found: Mapping[int, Checked]) -> str:
    """Why a record fails, with the beginnings of the arguments that it shows."""
    parts: list[str] = []
    for index, part in enumerate(re.split(r"\{(\d(?::\d+)?)\}", text)):
        if index % 2 == 0:
            parts += [quoted_text(part)] if part else []
        else:
            argument, _, length = part.partition(":")
            value = found[int(argument)]
            parts.append(f"substring({value}, 1, {length})" if length else str(value))
    return f"concat({', '.join(parts)})" if len(parts) > 1 else parts[0]


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
    """SQL of the first argument, its type and the type of the result."""
    return lambda writer, call: write(writer.emit(call.arguments[0]), kind(call), strip(call.type))


def by_kind(kinds: Mapping[type[Type], Emit], other: Emit = written) -> Emit:
    """The emitter that the type of the first argument asks for; others are written as the table says."""
    return lambda writer, call: kinds.get(type(kind(call)), other)(writer, call)


def kind(call: Call) -> Type:
    """The type of the first argument."""
    return strip(call.arguments[0].type)


def constant_text(call: Call, index: int) -> str:
    """An argument that the lowering takes as a constant text only."""
    value = constant(call.arguments[index])
    assert isinstance(value, str), "the lowering takes constants only"
    return value
