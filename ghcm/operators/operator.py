"""One row of the table of operators: what an operator takes, gives, keeps, how it can fail and which engines run it.

Type rules that need more than a row says are in `ghcm.lowering`, one function for each operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from enum import Enum
from typing import Literal, TypeAlias

from ghcm.functions import Failure
from ghcm.support import YES, Engine, Support
from ghcm.types import Shape

ALL = (Shape.STREAM, Shape.PAIRS, Shape.TABLE)
FLOWING = (Shape.STREAM, Shape.PAIRS)
EXPRESSION = (Failure.OVERFLOW, Failure.ZERO_DIVISOR, Failure.BAD_CAST, Failure.OUT_OF_RANGE, Failure.BAD_PATTERN)
"""How a record can fail in a function of the program."""


class Role(Enum):
    """Where in a pipeline it stands."""

    SOURCE = "source"
    TRANSFORM = "transform"
    END = "end"


_Written: TypeAlias = Literal[
    "bool",
    "int",
    "float",
    "string",
    "time",
    "duration",
    "interval",
    "int or duration",
    "int or time",
    "time or offsets",
    "name",
    "field",
    "any",
]
_Named: TypeAlias = Literal[
    "lambda1", "lambda2", "aggregate", "window", "collection", "record", "rows", "sink", "call", "service"
]
Kind: TypeAlias = _Written | _Named


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. `kind`: what may stand there, of lambdas with their arity. `positional`: may be given unnamed."""

    name: str
    kind: Kind
    required: bool = True
    positional: bool = True
    choices: tuple[str, ...] = ()
    repeated: bool = False
    """Any number of these (positional), or any names (`aggregate_by_key(n = count())`)."""


def option(name: str, kind: Kind, *choices: str) -> Argument:
    """An argument that may be left out and is given by name."""
    return Argument(name, kind, required=False, positional=False, choices=choices)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The statements of a unit, and what it leaves, line by line: the records of the reply as JSON, `sink: record`,
    `call unit: arguments`, `dead letter (reason): input`.

    `declares`: records, sinks and other units. `unit`: its kind; where it is a responsive batch, the last statement is
    replied. `files`: the texts of files by path, of what comes in at a socket by its address, or of a table's rows as
    JSON, by its path or by its database and name. `sinks`: the records that sinks hold, as JSON lines. `parameters`: of
    the unit, with their defaults, as they are declared.
    """

    text: str
    gives: tuple[str, ...]
    declares: str
    unit: str
    files: Mapping[str, str]
    sinks: Mapping[str, tuple[str, ...]]
    parameters: str = ""

    def program(self) -> str:
        """The whole program."""
        replies = self.unit == "responsive batch" and not self.text.endswith((".reply()", ".to(out)"))
        body = "\n".join(f"  {line}" for line in f"{self.text}{'.reply()' if replies else ''}".splitlines())
        return f"program example\n\n{self.declares}\n\n{self.unit} example{self.parameters} {{\n{body}\n}}\n"


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator. `takes`: the shapes of its input (empty for sources). `gives`: the output, for people. `revises`:
    it takes the pairs of a table that never ends, and takes back what it has made of those that change.
    """

    name: str
    _: KW_ONLY
    role: Role = Role.TRANSFORM
    takes: tuple[Shape, ...] = FLOWING
    gives: str
    meaning: str
    arguments: tuple[Argument, ...] = ()
    exchange: Literal["none", "forward", "hash", "global"] = "forward"
    stateful: bool = False
    needs_bounded: bool = False
    revises: bool = False
    failures: tuple[Failure, ...] = ()
    reference: Support = YES
    row: Support = YES
    columnar: Support = YES
    spark: Support = YES
    native_in_batches: bool = False
    """Whether a batch unit that has it runs all the same, on the native engine."""
    examples: tuple[Pipeline, ...] = ()

    def example(
        self,
        text: str,
        *gives: str,
        declares: str = "",
        unit: str = "responsive batch",
        files: Mapping[str, str] | None = None,
        sinks: Mapping[str, tuple[str, ...]] | None = None,
        parameters: str = "",
    ) -> Operator:
        """The operator with one example more."""
        shown = Pipeline(text, gives, declares, unit, files or {}, sinks or {}, parameters)
        return replace(self, examples=(*self.examples, shown))

    def support(self, engine: Engine) -> Support:
        """What that engine says to it."""
        match engine:
            case Engine.REFERENCE:
                return self.reference
            case Engine.ROW:
                return self.row
            case Engine.COLUMNAR:
                return self.columnar
            case Engine.SPARK:
                return self.spark
