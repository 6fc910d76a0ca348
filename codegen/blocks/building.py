"""From steps to a block: functions are applied to the columns that are known, and `let` becomes a line."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from ghcm.codegen.blocks.block import (
    Bind,
    Block,
    Columns,
    Explode,
    Keep,
    Line,
    Operator,
    Outside,
    Stamp,
    Step,
    columns_of,
    record_of,
    variables,
)
from ghcm.codegen.blocks.reduction import reduced
from ghcm.expr import Expr, Get, Lambda, Let, Literal, MakeStruct, Var, fresh, numbered, substitute
from ghcm.folding import applied, folded, is_atom
from ghcm.spg import ops
from ghcm.types import Struct, Type, as_nullable, strip


def block_of(steps: Sequence[Step]) -> Block:
    """The steps, of which there is at least one, as a block."""
    first = variables(steps[0].taken)
    builder = _Builder(first, taken=set(first))
    for at, step in enumerate(steps):
        element = columns_of(step.taken)
        builder.columns = {part.name: _declared(builder.columns[part.name], part.type) for part in element.fields}
        builder.operators.append(Operator(step, builder.columns))
        builder.add(step, at)
    return reduced(Block(tuple(builder.operators), tuple(builder.lines), builder.columns))


def _declared(value: Expr, type_: Type) -> Expr:
    """A value as a column of a type: a filter may have shown that it is not null, and a bare null has a type."""
    if isinstance(value, Literal) and value.value is None:
        return replace(value, type=type_)
    known = value.type == type_ or as_nullable(value.type) == type_
    return replace(value, type=type_) if isinstance(value, Var | Get) and not known else value


@dataclass
class _Builder:
    """A block under construction; `columns` are those of the record behind the lines so far."""

    columns: Columns
    taken: set[str]
    operators: list[Operator] = field(default_factory=list[Operator])
    lines: list[Line] = field(default_factory=list[Line])
    known: dict[str, Var] = field(default_factory=dict[str, Var])

    def add(self, step: Step, at: int) -> None:
        """The lines of a step, and the columns of what it gives."""
        match step.op:
            case ops.Filter(predicate=predicate):
                self.lines.append(Keep(self._opened(self._body(step, predicate), at), at))
            case ops.Map(function=function) | ops.MapToPair(function=function):
                self.columns = self._record("record", self._body(step, function), step.given, at)
            case ops.FlatMap(function=function):
                items = self._opened(self._body(step, function), at)
                item = self._name("item")
                self.lines.append(Explode(item, items, at))
                self.columns = self._parts(Var(item, step.given), step.given)
            case ops.MapValues(function=function):
                value = applied(function, self.columns["value"])
                self.columns = {**self.columns, "value": self._bound("value", value, at)}
            case ops.KeyBy(function=function):
                key = self._bound("key", self._body(step, function), at)
                self.columns = {"key": key, "value": record_of(self.columns, step.taken)}
            case ops.EventTime(time=time):
                self.lines.append(Stamp(self._opened(self._body(step, time), at), at))
            case ops.PythonCall():
                self._outside(columns_of(step.given), at)
            case ops.Window():
                held, before = columns_of(step.given), self.columns
                self._outside(Struct((held.field_of("window"),)), at)
                known = {**before, **self.columns}
                self.columns = {name: known[name] for name in held.names}
            case _:
                assert_never(step.op)

    def _outside(self, made: Struct, at: int) -> None:
        names = [self._name(part.name) for part in made.fields]
        self.lines.append(Outside(tuple(names), at))
        parts = zip(names, made.fields, strict=True)
        self.columns = {part.name: Var(name, part.type) for name, part in parts}

    def _body(self, step: Step, function: Lambda) -> Expr:
        """What a function of the record computes."""
        return applied(function, record_of(self.columns, step.taken))

    def _record(self, wish: str, value: Expr, gives: Type, at: int) -> Columns:
        """The columns of a record that an expression makes."""
        value = self._opened(value, at)
        if not isinstance(gives, Struct):
            return {"value": self._bound("value", value, at)}
        if isinstance(value, MakeStruct):
            made = zip(gives.names, value.values, strict=True)
            return {name: self._bound(name, each, at) for name, each in made}
        whole = self._bound(wish, value, at)
        return self._parts(whole, gives)

    def _parts(self, whole: Expr, element: Type) -> Columns:
        """The columns of a record that is one value."""
        if not isinstance(element, Struct):
            return {"value": whole}
        of = strip(whole.type)
        names = of.names if isinstance(of, Struct) else element.names
        pairs = zip(names, element.fields, strict=True)
        return {part.name: folded(Get(whole, name, part.type)) for name, part in pairs}

    def _opened(self, value: Expr, at: int) -> Expr:
        """The body inside all `Let` that stand around a value, which become lines."""
        while isinstance(value, Let):
            given = self._bound(value.variable.name, value.value, at)
            value = folded(substitute(value.body, {value.variable.name: given}))
        return value

    def _bound(self, wish: str, value: Expr, at: int) -> Expr:
        """A value under a name, which is the one that it has where it is known already."""
        value = self._opened(value, at)
        if is_atom(value):
            return value
        key = repr(numbered(value))
        if key not in self.known:
            self.known[key] = Var(self._name(wish), value.type)
            self.lines.append(Bind(self.known[key].name, value, at))
        return self.known[key]

    def _name(self, wish: str) -> str:
        name = fresh(wish, self.taken)
        self.taken.add(name)
        return name
