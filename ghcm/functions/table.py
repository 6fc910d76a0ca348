"""What a row of the table of functions says, and how a call is typed by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ghcm.signatures import Resolution, Rule
from ghcm.support import YES, Engine, Never, Yes
from ghcm.types import Null, Type, as_nullable, is_nullable, strip


class Failure(Enum):
    """Why a record becomes a dead letter: the closed list of reasons, the same on every engine."""

    OVERFLOW = "overflow"
    ZERO_DIVISOR = "zero_divisor"
    BAD_CAST = "bad_cast"
    OUT_OF_RANGE = "out_of_range"
    BAD_PATTERN = "bad_pattern"
    BAD_RECORD = "bad_record"
    LATE = "late"
    NULL_TIME = "null_time"
    PYTHON = "python"
    WRONG_RESULT = "wrong_result"


class Nulls(Enum):
    """What a null argument does: makes the result null, or is the function's own matter."""

    PROPAGATE = "propagate"
    HANDLED = "handled"


@dataclass(frozen=True, slots=True)
class BadConstant:
    """A constant argument that cannot be: its place, from 0, why, and what to write instead."""

    place: int
    reason: str
    hint: str = ""


ConstantRule: TypeAlias = Callable[[tuple[Type, ...], tuple[object, ...]], BadConstant | None]
"""From the types of all arguments without their `?`, and their values where they are constants (None elsewhere)."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function. `signature` is for people; `rule` is what the lowering uses."""

    name: str
    signature: str
    rule: Rule
    meaning: str
    nulls: Nulls = Nulls.PROPAGATE
    failures: tuple[Failure, ...] = ()
    method: bool = True
    """Whether it may be written `x.name(...)` as well as `name(x, ...)`."""
    constants: tuple[int, ...] = ()
    """The places of arguments that must be literals, from 0, where they are given: what engines have to know before
    they run."""
    bad_constant: ConstantRule | None = None
    """What is wrong with constants of the right types; None where nothing is."""
    columnar: Yes | Never = YES
    """Whether there is a columnar form; a task that calls a function without one runs by rows. What has none for some
    types only is refused by its emitter."""

    def support(self, engine: Engine) -> Yes | Never:
        """What that engine says to it."""
        return self.columnar if engine is Engine.COLUMNAR else YES


def resolve(function: Function, arguments: tuple[Type, ...]) -> Resolution | None:
    """Type a call: the rule on the stripped types, then nullability as `nulls` says."""
    if function.nulls is Nulls.HANDLED:
        return function.rule(arguments)
    if any(isinstance(argument, Null) for argument in arguments):
        return None
    found = function.rule(tuple(map(strip, arguments)))
    if found is None:
        return None
    parameters = tuple(
        as_nullable(to) if is_nullable(argument) else to
        for to, argument in zip(found.parameters, arguments, strict=True)
    )
    result = as_nullable(found.result) if any(map(is_nullable, arguments)) else found.result
    return Resolution(parameters, result)
