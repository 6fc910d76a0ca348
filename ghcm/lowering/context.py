"""What every check of a program has at hand: where to report, and what the program declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ghcm.codes import Code
from ghcm.errors import Diagnostics
from ghcm.expr import Expr, Var
from ghcm.language import ast
from ghcm.lowering.narrowing import NOTHING, Facts
from ghcm.lowering.notes import Notes
from ghcm.lowering.spelling import in_python
from ghcm.lowering.types import Records
from ghcm.source import Origin, Span
from ghcm.types import Collection, Type


@dataclass(frozen=True, slots=True)
class Defined:
    """A function of the program: what it takes, and what it gives as an expression of that."""

    name: str
    parameters: tuple[Var, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Context:
    """The program around a check: its records, and the kinds of its other names (`sink`, `unit`, ...). `notes` keeps
    what is found out on the way, where somebody asks for it.
    """

    diagnostics: Diagnostics
    records: Records
    kinds: Mapping[str, str]
    notes: Notes | None = None
    functions: Mapping[str, Defined | None] = field(default_factory=dict[str, "Defined | None"])
    """The program's own functions; None for one that is wrong, which has been reported."""
    for_reference: bool = False
    """Whether what only waits for an engine is let through, since nothing but the reference is to run it."""

    def note(self, span: Span | None, type_: Type | Collection) -> None:
        """Note the type of what stands at a place."""
        if self.notes is not None:
            self.notes.note(span, type_)

    def report(self, code: Code, message: str, span: Span | None, *, detail: str = "", hint: str = "") -> None:
        """Note one mistake; the hint is written for the text language."""
        if span is not None and span.source.name.endswith(".py"):
            hint = in_python(hint)
        self.diagnostics.error(code.value, message, span, detail=detail, hint=hint)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a name means inside an expression. None stands for a name whose own mistake has been reported.

    `variables`: lambda parameters, or the columns inside an aggregate. `parameters`: the unit's. `collections`: the
    unit's assignments, which no expression may mention; known so that the message can say so.
    """

    variables: Mapping[str, Expr | None] = field(default_factory=dict[str, Expr | None])
    parameters: Mapping[str, Expr | None] = field(default_factory=dict[str, Expr | None])
    collections: frozenset[str] = frozenset()
    facts: Facts = NOTHING
    implied: Mapping[str, Facts] = field(default_factory=dict[str, Facts])
    """What is not null where the value of a `let` is not."""
    taken: frozenset[str] = frozenset()
    """Every name that is bound around here, hidden ones too: what is bound inside takes others."""

    def knowing(self, facts: Facts) -> Scope:
        """The scope where these places, too, are known not to be null."""
        further = NOTHING.union(*(self.implied.get(path[0], NOTHING) for path in facts))
        return replace(self, facts=self.facts | facts | further) if facts else self

    def binding(self, variables: Mapping[str, Expr | None]) -> Scope:
        """The scope inside a lambda."""
        taken = self.taken.union(each.name for each in variables.values() if isinstance(each, Var))
        return replace(self, variables={**self.variables, **variables}, taken=taken)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that stands for a value."""
        return (*self.variables, *self.parameters)


Value: TypeAlias = Callable[[ast.Expr, Scope], Expr | None]
"""The typed form of an expression, or None after a report."""


def origin_of(span: Span | None) -> Origin:
    """The place that a task keeps; what was built without one has none that tells anything."""
    return Origin("", 1, 1) if span is None else span.origin
