"""Row operations as a few `select`s: values are columns, and why a record fails is one column for the whole chain.

The lines of a block (`codegen.blocks`) are written in their order. What they compute is a column as soon as a later
line needs it; a filter ahead of everything that may fail is a `where` that reaches the source. A record that has failed
passes the filters and lists behind, up to the end of the chain: there `passed` takes it out, with the input of its
operator made of the columns that are live.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from ghcm.codegen.blocks import (
    Bind,
    Block,
    Columns,
    Explode,
    Keep,
    Outside,
    Stamp,
    Step,
    block_of,
    columns_of,
    is_atom,
    is_guard,
    record_of,
)
from ghcm.codegen.spark.expressions import Emitter, Scope, value_binding
from ghcm.codegen.spark.library.sql import bare, fails, is_path, named, quoted
from ghcm.codegen.spark.names import Ahead, variable, with_columns_ahead
from ghcm.codegen.spark.sql import Checked, first, null
from ghcm.codegen.spark.text import quote, selected, sql_text
from ghcm.expr import Expr, Get, Literal, Param
from ghcm.spg.traits import TIME
from ghcm.types import Struct, is_nullable, strip


def chain_body(scope: Scope, steps: Sequence[Step], had: frozenset[str], *, told: bool) -> list[str]:
    """The statements that turn `rows` into those of the steps, none of which is a window or a Python function. `had`:
    the hidden columns of `rows`. `told`: they say which lines are of which step.
    """
    block = block_of(steps)
    known = [*scope.keep, *had, *columns_of(steps[0].taken).names]
    later = {name for step in steps for name in columns_of(step.given).names}
    writer = _Writer(scope, block, {name: quoted(name) for name in sorted(had)}, Ahead(set(known), later), told)
    for line in block.lines:
        match line:
            case Bind():
                writer.bind(line)
            case Keep():
                writer.keep(line)
            case Explode():
                writer.explode(line)
            case Stamp():
                writer.stamp(line)
            case Outside():
                raise ValueError("it is more than an expression")
            case _:
                assert_never(line)
    writer.end()
    return writer.lines


@dataclass
class _Writer:
    """A chain under construction: the statements so far, and what is not in them yet.

    `ahead` are columns that nothing has asked for, `kept` the conditions of filters, `errors` why records fail, by
    operator; `failed` is the column with what they have failed for before, `hidden` the hidden columns.
    """

    scope: Scope
    block: Block
    hidden: dict[str, str]
    ahead: Ahead
    told: bool
    lines: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])
    errors: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    failed: str | None = None
    at: int = 0
    said: int = 0

    def __post_init__(self) -> None:
        taken = columns_of(self.block.operators[0].step.taken)
        self.columns = {name: quoted(name) for name in taken.names}
        self.guards = sorted({line.at for line in self.block.lines if is_guard(line)})

    # --- lines -------------------------------------------------------------------------------------------------------

    def bind(self, line: Bind) -> None:
        """A value becomes a column; the error of what fails may ask for it."""
        with self.ahead.whole(line.name, line.value):
            value = self._value(line.value, line.at)
        self.columns[line.name] = value if is_path(value) else self.ahead.add(line.name, value)

    def keep(self, line: Keep) -> None:
        """A filter; what has failed passes it."""
        condition = self._value(line.condition, line.at)
        self._mark()
        self._compute_for(condition, self.failed)
        self.kept.append(bare(condition))
        self.at = line.at

    def stamp(self, line: Stamp) -> None:
        """The event time, where somebody asks for it; what has none fails."""
        time = self._value(line.time, line.at)
        asked, optional = TIME in self.scope.keep, is_nullable(line.time.type)
        if optional and asked and not is_path(time):
            time = self.ahead.add("time", time)
        if optional:
            self.errors.append((line.at, fails(f"{time} IS NULL", "null_time", "the time is null")))
        self.hidden = {TIME: f"unix_micros({bare(time)})"} if asked else {}

    def explode(self, line: Explode) -> None:
        """The items of a list as rows; what has failed stays one row."""
        items = self._value(line.items, line.at)
        self._mark()
        if self.failed is not None:
            items = f"CASE WHEN {self.failed} IS NULL THEN {bare(items)} ELSE array(NULL) END"
        self._end_kept()
        self._compute_for(items)
        item = self.columns[line.name] = self.ahead.name(line.name)
        self.at = line.at
        self._add(selected("rows", "*", f"explode({bare(items)}) AS {item}"))

    def end(self) -> None:
        """The columns of the result, without the records that have failed."""
        last = len(self.block.operators) - 1
        given = {name: self._output(value, last) for name, value in self.block.gives.items()}
        error, steps = self._error(), [self._step(at) for at in self.guards]
        asking = [str(error), *(record for _, record in steps), *self.hidden.values()]
        given = self._made_at_last(given, asking)
        self._end_kept()
        self._compute_for(*given.values(), *asking)
        whole = _whole(self.block.gives)
        columns = [named(sql, name) for name, sql in self.hidden.items()]
        columns += [f"{self._value(whole, last)}.*"] if whole else [named(sql, name) for name, sql in given.items()]
        self.at = last
        if error is not None:
            listed = [call for call, _ in steps]
            where = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
            texts = ", ".join(map(sql_text, [error, *columns]))
            self._add(f"passed(job, rows, {where}, {texts}{self.scope.uniting()})")
        elif not self._is_as_given(given):
            self._add(selected("rows", *columns))

    def _made_at_last(self, given: dict[str, str], asking: Sequence[str]) -> dict[str, str]:
        """The results, those columns ahead among them that nothing else asks for."""
        made = dict(given)
        for name, value in reversed(self.ahead.columns):
            others = [*asking, *(other for own, other in self.ahead.columns if own != name)]
            places = [each for each, sql in made.items() if _mentions(sql, name)]
            alone = len(places) == 1 and made[places[0]] == name
            if alone and not any(_mentions(sql, name) for sql in others):
                made[places[0]] = value
                self.ahead.columns.remove((name, value))
        return made

    # --- statements --------------------------------------------------------------------------------------------------

    def _add(self, made: str) -> None:
        """A statement behind the names of the operators up to the one that it is of."""
        steps = [each.step for each in self.block.operators]
        if self.told:
            self.lines += [
                f"# {type(each.op).__name__} {each.id}, {each.origin}" for each in steps[self.said : self.at + 1]
            ]
        self.said = max(self.said, self.at + 1)
        self.lines.append(f"rows = {made}")

    def _end_kept(self) -> None:
        """All filters since the last statement as one."""
        if not self.kept:
            return
        condition = self.kept[0] if len(self.kept) == 1 else " AND ".join(f"({each})" for each in self.kept)
        if self.failed is not None:
            condition = f"{self.failed} IS NOT NULL OR ({condition})"
        self.kept.clear()
        self._add(f"rows.where({sql_text(condition)})")

    def _mark(self) -> None:
        """Why records fail becomes a column, where any may have failed since the last time."""
        if not self.errors:
            return
        self._end_kept()
        error = self._error()
        self.failed = quoted(f"@{variable('error')}")
        self.ahead.columns.append((self.failed, str(error)))
        self.errors.clear()

    def _compute_for(self, *texts: str | None) -> None:
        """The columns ahead, as soon as some text asks for one."""
        if not any(_mentions(text, name) for text in texts if text for name, _ in self.ahead.columns):
            return
        self._end_kept()
        self._add(selected("rows", "*", *(f"{bare(value)} AS {name}" for name, value in self.ahead.columns)))
        self.ahead.columns.clear()

    def _is_as_given(self, given: dict[str, str]) -> bool:
        """Whether the rows are those of the input, as far as they are there."""
        as_they_were = {name: quoted(name) for name in (*self.scope.names, *self.hidden)}
        return {**given, **self.hidden} == as_they_were and not any(
            line.startswith("rows = rows.selectExpr") for line in self.lines
        )

    # --- expressions -------------------------------------------------------------------------------------------------

    def _emitter(self) -> Emitter:
        bindings = {name: value_binding(Checked(sql)) for name, sql in self.columns.items()}
        return Emitter(self.scope.schemas, bindings, self.scope.id)

    def _value(self, expr: Expr, at: int) -> str:
        """An expression; why it fails is noted."""
        with with_columns_ahead(self.ahead):
            made = self._emitter().emit(expr)
        if made.error is not None:
            self.errors.append((at, made.error))
        return made.value

    def _output(self, value: Expr, at: int) -> str:
        bare_null = isinstance(value, Literal) and value.value is None
        return null(value.type).value if bare_null else self._value(value, at)

    def _error(self) -> str | None:
        """Why a record fails: what it has failed for before, or the first reason since, behind the number of the
        operator that it is of where several may fail.
        """
        found: dict[int, str | None] = {}
        for at, error in self.errors:
            found[at] = first(found.get(at), error)
        if len(self.guards) > 1:
            found = {at: f"concat('{self.guards.index(at)} ', {error})" for at, error in found.items()}
        return first(self.failed, *found.values())

    def _step(self, at: int) -> tuple[str, str]:
        """An operator as a step of the job, and its input, which is said where columns of its names hold
        something else.
        """
        operator = self.block.operators[at]
        emitter, step = self._emitter(), operator.step
        record = emitter.emit(record_of(operator.input, step.taken)).value
        own = all(emitter.emit(value).value == quoted(name) for name, value in operator.input.items())
        further = "" if own else f", {sql_text(record)}"
        element = self.scope.element(step.taken)
        return f"Step({quote(step.id)}, {quote(step.origin)}, {element}{further})", record


def _whole(gives: Columns) -> Expr | None:
    """The record, stored under a name, whose fields these are as they stand in it."""
    wholes = [value.of for value in gives.values() if isinstance(value, Get)]
    if len(wholes) < len(gives) or not is_atom(wholes[0]) or isinstance(wholes[0], Literal | Param):
        return None
    of = strip(wholes[0].type)
    names = [value.field for value in gives.values() if isinstance(value, Get)]
    same = isinstance(of, Struct) and names == list(gives) == list(of.names)
    return wholes[0] if same and all(each == wholes[0] for each in wholes) else None


def _mentions(sql: str, name: str) -> bool:
    return name in sql if name[0] == "`" else re.search(rf"(?<![\w`.]){name}(?![\w`(])", sql) is not None
