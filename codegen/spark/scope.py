"""What the emitters of a task know: the job around it, its inputs, and how its records are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ghcm.codegen.spark.expressions import Binding, Emitter, columns_binding, value_binding
from ghcm.codegen.spark.library.sql import named, quoted, text
from ghcm.codegen.spark.sql import Checked, col, first, null
from ghcm.codegen.spark.text import Schemas, also, quote, selected, sql_text
from ghcm.expr import Expr, Lambda, Literal
from ghcm.functions import comparable
from ghcm.spg.graph import Program, Unit
from ghcm.types import Collection, Struct, Type, is_nullable, strip


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

    @property
    def kept(self) -> list[str]:
        """The hidden columns that it gives on, as SQL."""
        return [quoted(name) for name in sorted(self.keep)]

    def type(self, type_: Type) -> str:
        """A type as the job writes it."""
        return self.schemas.text(type_, self.id)

    def element(self, type_: Type) -> str:
        """The type of records as the job writes it: those that may be null stand in one column."""
        text = self.type(type_)
        return f"maybe_record({text})" if is_nullable(type_) and isinstance(strip(type_), Struct) else text

    def record(self) -> Checked:
        """The whole input record as one value."""
        if not isinstance(self.takes.element, Struct):
            return col("value")
        return Checked(f"named_struct({', '.join(f'{text(name)}, {quoted(name)}' for name in self.names)})")

    def binding(self) -> Binding:
        """What a lambda's parameter is that is the input record."""
        return columns_binding(self.record()) if isinstance(self.takes.element, Struct) else value_binding(col("value"))

    def on_record(self, function: Lambda) -> Checked:
        """The body of a lambda over the input record."""
        return self.emitter.body(function, self.binding())

    def typed(self, function: Lambda, type_: Type) -> Checked:
        """The body of a lambda over the input record; a bare null gets its type."""
        body = function.body
        return null(type_) if isinstance(body, Literal) and body.value is None else self.on_record(function)

    def step(self, input: Type | None = None) -> str:
        """Where a record is when it fails."""
        element = self.element(self.takes.element if input is None else input)
        return f"Step({quote(self.id)}, {quote(self.origin)}, {element})"

    def keeping(self) -> str:
        """The argument for the hidden columns."""
        return f", keep=[{', '.join(map(quote, sorted(self.keep)))}]" if self.keep else ""

    def passed(self, *given: Checked, rows: str = "rows", input: Type | None = None) -> list[str]:
        """The statement that makes dead letters of the rows for which one of these fails, if any can."""
        error = first(*(each.error for each in given))
        return [] if error is None else [f"{rows} = passed(job, {rows}, {self.step(input)}, {sql_text(error)})"]

    def select(self, columns: Mapping[str, Checked], rows: str = "rows", *, hidden: bool = True) -> str:
        """Rows with these columns behind the hidden ones."""
        texts = (named(value.value, name) for name, value in columns.items())
        return selected(rows, *(self.kept if hidden else ()), *texts)

    def count(self, count: Expr) -> str:
        """How many are asked for; none where that fails."""
        if isinstance(count, Literal):
            return str(max(0, int(str(count.value or 0))))
        given = self.emitter.emit(count)
        return f"top_count(job, {self.step()}, {sql_text(given.value)}{also(given.error)})"

    def comparable_names(self) -> list[str]:
        """The columns by which records can be ordered."""
        return [part.name for part in self.takes.columns.fields if comparable(part.type)]
