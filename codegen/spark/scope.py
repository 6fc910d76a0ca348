"""What the emitters of a task know: the job around it, its inputs, and how its records are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ghcm.codegen.spark.expressions import Binding, Emitter, can_fail, columns_binding, value_binding
from ghcm.codegen.spark.schemas import Schemas
from ghcm.codegen.spark.text import quote
from ghcm.expr import Expr, Lambda, Literal
from ghcm.functions import comparable
from ghcm.spg.graph import Program, Unit
from ghcm.types import Collection, Null, Struct, Type, is_nullable, strip


@dataclass(frozen=True, slots=True)
class Scope:
    """One task: `id` and `origin` name it in dead letters, `takes` is its first input, `sides` all of them, `inputs`
    the names of their data frames, `keep` the hidden columns that it gives on.
    """

    program: Program
    unit: Unit
    schemas: Schemas
    id: str
    origin: str
    takes: Collection
    gives: Collection
    sides: tuple[Collection, ...]
    inputs: tuple[str, ...]
    keep: frozenset[str]

    @property
    def emitter(self) -> Emitter:
        """Writes expressions that look at no record."""
        return Emitter(self.schemas, {}, self.id)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the input."""
        return self.takes.columns.names

    def type(self, type_: Type) -> str:
        """A type as the job writes it."""
        return self.schemas.text(type_, self.id)

    def element(self, type_: Type) -> str:
        """The type of records as the job writes it: those that may be null stand in one column."""
        text = self.type(type_)
        return f"MaybeRecord({text}.fields)" if is_nullable(type_) and isinstance(strip(type_), Struct) else text

    def record(self) -> str:
        """The whole input record as one value."""
        return f"whole({self.type(self.takes.element)})" if isinstance(self.takes.element, Struct) else 'col("value")'

    def binding(self) -> Binding:
        """How a lambda's parameter is written that is the input record."""
        if isinstance(self.takes.element, Struct):
            return columns_binding(self.record())
        return value_binding('col("value")')

    def on_record(self, function: Lambda) -> str:
        """The body of a lambda over the input record."""
        return self.emitter.body(function, self.binding())

    def typed(self, function: Lambda, type_: Type) -> str:
        """The body of a lambda over the input record; a bare null gets its type."""
        body = function.body
        if isinstance(body, Literal) and body.value is None and not isinstance(type_, Null):
            return f"null({self.type(type_)})"
        return self.on_record(function)

    def step(self, input: Type | None = None) -> str:
        """Where a record is when it fails."""
        element = self.element(self.takes.element if input is None else input)
        return f"Step({quote(self.id)}, {quote(self.origin)}, {element})"

    def step_if(self, *expressions: Expr) -> str:
        """The argument that says so, where a record may fail."""
        return f", step={self.step()}" if any(map(can_fail, expressions)) else ""

    def keeping(self) -> str:
        """The argument for the hidden columns."""
        return f", keep=[{', '.join(map(quote, sorted(self.keep)))}]" if self.keep else ""

    def transformed(self, rows: str, columns: Mapping[str, str], *expressions: Expr, step: str = "") -> str:
        """Rows with these columns; the expressions say whether a record may fail."""
        parts = ", ".join(f"{quote(name)}: {text}" for name, text in columns.items())
        where = step or self.step_if(*expressions)
        return f"transformed(job, {rows}, {{{parts}}}{where}{self.keeping()})"

    def comparable_names(self) -> list[str]:
        """The columns by which records can be ordered."""
        return [part.name for part in self.takes.columns.fields if comparable(part.type)]
