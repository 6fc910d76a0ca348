"""What every check of a program has at hand: where to report, what the program declares, and what names stand for.

Hints are written for the text language and respelt for Python. `Notes` keep the types that are found, those of a
program with mistakes too, for editors; nothing in the compiler reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ghcm.codes import Code
from ghcm.errors import Diagnostics, Reported, suggest
from ghcm.expr import Expr, Let, Literal, Var, fresh
from ghcm.language import ast
from ghcm.lowering.narrowing import NOTHING, Facts, path_of, present
from ghcm.lowering.types import Records
from ghcm.source import Origin, Source, Span
from ghcm.types import Collection, Type

_NAMED = 8
"""So many names are said to be there; more would hide the mistake."""


@dataclass(frozen=True, slots=True)
class Defined:
    """A function of the program: what it takes, and what it gives as an expression of that."""

    name: str
    parameters: tuple[Var, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Context:
    """The program around a check: its records, and the kinds of its other names (`sink`, `unit`, ...). `typed` is how
    an expression is typed, which its parts ask for in turn. `notes` keeps what is found out on the way, where somebody
    asks for it.
    """

    diagnostics: Diagnostics
    records: Records
    kinds: Mapping[str, str]
    typed: Callable[[ast.Expr, Scope], Expr]
    notes: Notes | None = None
    functions: Mapping[str, Defined | None] = field(default_factory=dict[str, "Defined | None"])
    """The program's own functions; None for one that is wrong, which has been reported."""
    pipelines: Mapping[str, ast.FunctionDecl] = field(default_factory=dict[str, ast.FunctionDecl])
    """The program's functions of collections."""
    aggregates: Mapping[str, ast.FunctionDecl] = field(default_factory=dict[str, ast.FunctionDecl])
    """The program's functions that are aggregates."""

    def note(self, span: Span | None, type_: Type | Collection) -> None:
        """Note the type of what stands at a source position."""
        if self.notes is not None:
            self.notes.note(span, type_)

    def hint_for(self, name: str, known: Mapping[str, object]) -> str:
        """What a name is where one of those was asked for, which of them was perhaps meant, or some of them."""
        if kind := self.kinds.get(name, ""):
            return f'"{name}" is a {kind}.'
        some = ", ".join(f'"{each}"' for each in sorted(known)[:_NAMED])
        return suggest(name, known) or (some and f"declared here: {some}")

    def report(self, code: Code, message: str, span: Span | None, *, detail: str = "", hint: str = "") -> Reported:
        """Note one mistake; the hint is written for the text language. Gives what a check raises that cannot go on."""
        if span is not None and span.source.name.endswith(".py"):
            hint = in_python(hint)
        return self.diagnostics.error(code.value, message, span, detail=detail, hint=hint)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a name means inside an expression. None stands for a name whose own mistake has been reported.

    `variables`: lambda parameters, or the columns inside an aggregate. `parameters`: the unit's. `collections`: the
    unit's assignments, which no expression may mention; known so that the message can say so.
    """

    context: Context
    variables: Mapping[str, Expr | None] = field(default_factory=dict[str, Expr | None])
    parameters: Mapping[str, Expr | None] = field(default_factory=dict[str, Expr | None])
    collections: frozenset[str] = frozenset()
    facts: Facts = NOTHING
    implied: Mapping[str, Facts] = field(default_factory=dict[str, Facts])
    """What is not null where the value of a `let` is not."""
    taken: frozenset[str] = frozenset()
    """Every name that is bound around here, hidden ones too: what is bound inside takes others."""

    def typed(self, written: ast.Expr) -> Expr:
        """The typed form of an expression; Reported where there is none, as everywhere that gives an expression."""
        return self.context.typed(written, self)

    def report(self, code: Code, message: str, span: Span | None, *, detail: str = "", hint: str = "") -> Reported:
        """As `Context.report`."""
        return self.context.report(code, message, span, detail=detail, hint=hint)

    def check_free(self, name: ast.Name) -> None:
        """Report a name that would hide a parameter of the unit."""
        if name.text in self.parameters:
            message = f'"{name.text}" would hide the parameter of the unit of that name'
            raise self.report(Code.RESERVED, message, name.span)

    def knowing(self, facts: Facts) -> Scope:
        """The scope where these paths, too, are known not to be null."""
        further = NOTHING.union(*(self.implied.get(path[0], NOTHING) for path in facts))
        return replace(self, facts=self.facts | facts | further) if facts else self

    def binding(self, variables: Mapping[str, Expr | None]) -> Scope:
        """The scope inside a lambda."""
        taken = self.taken.union(each.name for each in variables.values() if isinstance(each, Var))
        return replace(self, variables={**self.variables, **variables}, taken=taken)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that stands for a value."""
        return tuple(dict.fromkeys((*self.variables, *self.parameters)))


def origin_of(span: Span | None) -> Origin:
    """The source position that a task keeps; what was built without one has none that tells anything."""
    return Origin("", 1, 1) if span is None else span.origin


@dataclass(frozen=True, slots=True)
class Note:
    """The type of the value, or of the collection, that stands at a source position."""

    span: Span
    type: Type | Collection


@dataclass(eq=False, slots=True)
class Notes:
    """The notes of a program, by the source that they are about."""

    found: dict[int, list[Note]] = field(default_factory=dict[int, list[Note]])

    def note(self, span: Span | None, type_: Type | Collection) -> None:
        """Keep the type of what stands at a source position."""
        if span is not None:
            self.found.setdefault(id(span.source), []).append(Note(span, type_))

    def at(self, source: Source, offset: int) -> Iterator[Note]:
        """The notes whose span holds the offset, the smallest span first, of one span the latest."""
        notes = [each for each in self.found.get(id(source), ()) if each.span.start <= offset < each.span.end]
        notes.reverse()
        yield from sorted(notes, key=lambda each: each.span.end - each.span.start)

    def of(self, span: Span | None) -> Type | Collection | None:
        """The type of what stands at exactly that span, None where it is not known."""
        if span is None:
            return None
        notes = self.found.get(id(span.source), ())
        return next((each.type for each in reversed(notes) if each.span == span), None)


_RESPELT = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r'"_ => \.\.\."', '"otherwise=..."'),
        (r"\((\w+), (\w+)\) => ", r"lambda \1, \2: "),
        (r"(\w+) => ", r"lambda \1: "),
        (r"([\w.]+) is not null", r"\1.is_not_null()"),
        (r"([\w.]+) is null", r"\1.is_null()"),
        (r'"(\w+) \?\? (\w+)"', r'"coalesce(\1, \2)"'),
        (r"\?\?", "coalesce(...)"),
        (r"(l\.\w+ == r\.\w+) and (l\.\w+ < r\.\w+)", r"(\1) & (\2)"),
        (r"\.as\(", ".as_("),
        (r"(\w+) \{ \.\.\. \}", r"\1(...)"),
        (r"\{ \.\.\. \}", "Record(...)"),
        (r"\b(format|mode|on) = (json|csv|append|upsert|replace|window_close|completion)", r'\1="\2"'),
        (r"\b(at_end|disorder|every|key|n|on|order|record|rows|when) = ", r"\1="),
        (r"([=(])(\d+(?:us|ms|s|m|h|d))\b", r'\1"\2"'),
        (r"@associative @commutative", "associative(commutative(lambda a, b: ...))"),
        (r'"responsive (stream|batch) \w+"', r'"@program.\1(responsive=True)"'),
        (r'declared "responsive"', 'declared "responsive=True"'),
        (r"sink (\w+) = (\w*|\.\.\.)\((.*?)\)", r"\1 = program.sink(\2(\3))"),
        (r'behind a colon: python\("module:function"\) : Type', 'as its result: python("module:function", Type)'),
        (
            r'behind a colon: process\("module:function", state = ',
            'as its result: process("module:function", Type, state=',
        ),
        (r"(state=Record\)) : Type", r"\1"),
        (r"\b(count|sum|mean|min|max)\((\w+)\)", r'agg.\1("\2")'),
        (r"\b(?<!agg\.)(count|sum|mean|min|max)\(", r"agg.\1("),
    )
)


def in_python(hint: str) -> str:
    """The hint as a Python program would follow it.

    >>> in_python('"x ?? other" replaces null; behind filter(f => f.x is not null) it is known to be there.')
    '"coalesce(x, other)" replaces null; behind filter(lambda f: f.x.is_not_null()) it is known to be there.'
    >>> in_python("For example event_time(..., disorder = 10s).")
    'For example event_time(..., disorder="10s").'
    """
    for pattern, replacement in _RESPELT:
        hint = pattern.sub(replacement, hint)
    return hint


def let_value(written: ast.Let, scope: Scope) -> Expr:
    """The typed body of a `let`."""
    name = written.name.text
    scope.check_free(written.name)
    try:
        given = scope.typed(written.value)
    except Reported:
        scope.binding({name: None}).typed(written.body)
        raise
    return let_bound(given, name, scope, lambda kept, inner: inner.binding({name: kept}).typed(written.body))


def let_bound(given: Expr, wish: str, scope: Scope, body: Callable[[Expr, Scope], Expr]) -> Expr:
    """What `body` makes of a value, which is computed once however often it is mentioned, and of the scope in which it
    is.
    """
    if isinstance(given, Literal) or path_of(given) is not None:
        return body(given, scope)
    variable = Var(fresh(wish, scope.taken), given.type)
    implied = {**scope.implied, variable.name: present(given)}
    made = body(variable, replace(scope, implied=implied, taken=scope.taken | {variable.name}))
    return Let(variable, given, made, made.type)
