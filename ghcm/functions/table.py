"""What a row of the table of functions says, and how a call is typed by it.

Texts of engines are interpreted by `ghcm.codegen`, nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, TypeVar

from ghcm.signatures import Resolution, Rule, fixed
from ghcm.support import YES, Engine, Never, Yes
from ghcm.types import Null, Type, as_nullable, is_nullable, nullable_like, strip


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
    LOOKUP = "lookup"


class Nulls(Enum):
    """What a null argument does: makes the result null, or is the function's own matter."""

    PROPAGATE = "propagate"
    HANDLED = "handled"


class Always(Enum):
    """A choice between texts that is not of a type or a number of arguments."""

    SAFE = "a call that cannot fail"
    ELSE = "every other call"


SAFE, ELSE = Always.SAFE, Always.ELSE

Choice: TypeAlias = "type[Type] | int | Always | tuple[Choice, ...]"
"""The type of the first argument, how many arguments there are, or what `Always` says; of a tuple all must hold."""

Text: TypeAlias = "str | Never | Mapping[Choice, str | Never]"
"""How an engine writes a call, or why it cannot; where that depends, the first choice that holds counts.

`{0}` is the first argument, put in parentheses where it binds too loosely for where it stands. `{1|x}` is `x` where the
argument is not given, `{*}` all arguments between commas. Of constants: `{1:bare}` as Python writes it, `{1:zone}` a
time zone with a comma before it (nothing for UTC), `{pattern}` the regular expression of the second argument,
`{pattern:whole}` with both ends fixed. Of types: `{type}`, `{precision}` and `{scale}` of the result, `{0.precision}`
and `{0.scale}` of an argument. Of Polars: `{1:given}` is an argument, and where it is null, so is the result, whatever
Polars says. Of SQL: `{each}` is a name for the items of a list, and what follows `{given:then}` is for arguments that
are not null.
"""


_Case = TypeVar("_Case")

SqlFailure: TypeAlias = tuple[str, Failure, str]
"""A condition for which a record fails on Spark, the reason and the detail. In the condition `{given}` says that no
argument is null, and goes on with AND; `{given:after}` begins with AND. `{0:given}` and `{0:after}` say it of one
argument, and do not write it, as Polars' `{0:given}` does. `{value}` is the text of the call. In the detail `{0}` is
an argument, `{0:40}` the first 40 characters of it.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """An expression and its value as JSON, or the reason for which a record that needs it becomes a dead letter.

    `given`: the type and the value of the record `r` that the expression reads, where constants cannot say it:
    `("{ n: int32 }", "{ n: 7 }")`. `declares`: records that the expression names.
    """

    text: str
    gives: str = ""
    fails: Failure | None = None
    given: tuple[str, str] = ("{ n: int }", "{ n: 0 }")
    declares: str = ""

    def program(self) -> str:
        """The program that replies with the value."""
        type_, value = self.given
        fields = type_.strip().removeprefix("{").removesuffix("}").strip()
        return (
            f"program example\n\nrecord Given {{ {fields} }}\n{self.declares}\n"
            f"responsive batch example {{\n  memory([{value}]).as(Given).map(r => {self.text}).reply()\n}}\n"
        )


@dataclass(frozen=True, slots=True)
class BadConstant:
    """A constant argument that cannot be: which one, from 0, why, and what to write instead."""

    index: int
    reason: str
    hint: str = ""


ConstantRule: TypeAlias = Callable[[tuple[Type, ...], tuple[object, ...]], BadConstant | None]
"""From the types of all arguments without their `?`, and their values where they are constants (None elsewhere)."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function: all that is a fact about it. Its meaning stands in `ghcm.spg.reference.functions`.

    `form` is what people write, without the name where it begins with a parenthesis. It takes arguments of these types
    and gives that one, or is typed by a rule. `python`, `polars` and `spark` are the texts of engines, None where an
    engine has an emitter of its own for it; what `polars_fails` and `spark_fails` say is true of records that fail.
    """

    name: str
    form: str
    takes: tuple[Type, ...] | Rule
    gives: Type | None = None
    says: str = ""
    nulls: Nulls = Nulls.PROPAGATE
    failures: tuple[Failure, ...] = ()
    method: bool = True
    """Whether it may be written `x.name(...)` as well as `name(x, ...)`."""
    constants: tuple[int, ...] = ()
    """Which arguments must be literals, from 0, where they are given: what engines have to know before they run."""
    bad_constant: ConstantRule | None = None
    """What is wrong with constants of the right types; None where nothing is."""
    inexact: bool = False
    """Whether engines may differ in the last digits of its result, by 1e-12 of it."""
    shows: Mapping[str, str | Failure] | tuple[Example, ...] = ()
    """Examples: expressions and their values as JSON, or the reasons for which they fail."""
    python: Text | None = None
    polars: Text | None = None
    polars_fails: Text = ""
    spark: Text | None = None
    spark_fails: tuple[SqlFailure, ...] | Mapping[Choice, tuple[SqlFailure, ...]] = ()

    @property
    def examples(self) -> tuple[Example, ...]:
        """What it shows."""
        if not isinstance(self.shows, Mapping):
            return self.shows
        return tuple(
            Example(text, fails=gives) if isinstance(gives, Failure) else Example(text, gives)
            for text, gives in self.shows.items()
        )

    @property
    def signature(self) -> str:
        """What people write: `split(s, separator)`."""
        return self.name + self.form if self.form.startswith("(") else self.form

    def rule(self, arguments: tuple[Type, ...]) -> Resolution | None:
        """Type a call of arguments without their `?`."""
        if callable(self.takes):
            return self.takes(arguments)
        assert self.gives is not None, self.name
        return fixed(self.gives, *self.takes)(arguments)

    def support(self, engine: Engine) -> Yes | Never:
        """What that engine says to it. A task that calls a function without a columnar form runs by rows."""
        return self.polars if engine is Engine.COLUMNAR and isinstance(self.polars, Never) else YES


def resolve(function: Function, arguments: tuple[Type, ...]) -> Resolution | None:
    """Type a call: the rule on the stripped types, then nullability as `nulls` says."""
    if function.nulls is Nulls.HANDLED:
        return function.rule(arguments)
    if any(isinstance(argument, Null) for argument in arguments):
        return None
    found = function.rule(tuple(map(strip, arguments)))
    if found is None:
        return None
    parameters = tuple(nullable_like(to, given) for to, given in zip(found.parameters, arguments, strict=True))
    result = as_nullable(found.result) if any(map(is_nullable, arguments)) else found.result
    return Resolution(parameters, result)


def text_for(text: Text | None, kind: Type | None, count: int, *, safe: bool) -> str | Never | None:
    """The text for a call by the type of its first argument, its number of arguments, and whether it cannot fail."""
    return choose(text, kind, count, safe=safe) if isinstance(text, Mapping) else text


def choose(cases: Mapping[Choice, _Case], kind: Type | None, count: int, *, safe: bool) -> _Case | None:
    """Of what depends on a call the first that holds; None where nothing does."""

    def holds(choice: Choice) -> bool:
        match choice:
            case tuple():
                return all(map(holds, choice))
            case int():
                return count == choice
            case Always():
                return safe or choice is ELSE
            case _:
                return isinstance(kind, choice)

    return next((found for choice, found in cases.items() if holds(choice)), None)
