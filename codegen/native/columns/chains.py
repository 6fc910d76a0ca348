"""The columnar form of a chain: one lazy Polars query, whose guards are one more column of its result.

The lines of a block (`codegen.blocks`) are written in their order. A record that fails stays in the query, so that the
result knows of it; the function then gives None and the engine does the batch by rows, which takes such records out one
by one. A list behind a guard ends the query: what has failed has no items.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never

from ghcm.codegen.blocks import Bind, Block, Explode, Keep, Outside, Stamp, Step, block_of, columns_of, expression
from ghcm.codegen.native.chains import Chain, operator_name
from ghcm.codegen.native.columns.expressions import Ahead, ColumnScope, frame_function, selection
from ghcm.codegen.native.columns.text import Column, Unsupported, either, varies
from ghcm.codegen.native.snippets import ATOM, BITOR, quoted
from ghcm.expr import Expr, MakeList, MakeStruct, free_names
from ghcm.spg import ops, windows
from ghcm.types import Struct, is_nullable


def column_chain(chain: Chain, name: str) -> str:
    """The text of the function `<name>_columns`; `Unsupported` says why there is none."""
    block = block_of(chain.steps)
    query = _Query(chain, block)
    for index, line in enumerate(block.lines):
        step = chain.steps[line.at]
        try:
            match line:
                case Bind():
                    query.bind(line)
                case Keep():
                    query.keep(line)
                case Explode():
                    query.explode(line, _live(block, index))
                case Stamp():
                    query.stamp(line)
                case Outside():
                    query.outside(line, step)
                case _:
                    assert_never(line)
        except Unsupported as reason:
            raise Unsupported(f"{step.origin}  {operator_name(step.op)}: {reason}") from None
    last = chain.steps[-1]
    try:
        query.end()
    except Unsupported as reason:
        raise Unsupported(f"{last.origin}  {operator_name(last.op)}: {reason}") from None
    further = ", clock: PartitionClock" if query.stamped else ""
    return frame_function(f"{name}_columns", query.lines, further=further)


def _live(block: Block, index: int) -> set[str]:
    """The names that lines behind this one read, and the result."""
    later = [expr for line in block.lines[index + 1 :] if (expr := expression(line)) is not None]
    return {name for expr in (*later, *block.gives.values()) for name in free_names(expr)}


_FAILS = Column('pl.col("@fails")')
"""The records that have failed so far."""


@dataclass
class _Query:
    """A query under construction: the lines so far, and what is not in them yet.

    `masks` are those of records that fail, since the last column `@fails`, which the query has where it is `marked`;
    `started` says that the frame has a query, `made` that this has other columns than what came in, `stamped` that
    records have the event time of the chain.
    """

    chain: Chain
    block: Block
    lines: list[str] = field(default_factory=list[str])
    masks: list[Column] = field(default_factory=list[Column])
    scope: ColumnScope = field(default_factory=ColumnScope)
    ahead: Ahead = field(default_factory=Ahead)
    marked: bool = False
    started: bool = False
    made: bool = False
    stamped: bool = False
    at: int = 0
    said: int = 0

    def __post_init__(self) -> None:
        self.scope.ahead = self.ahead
        for name in columns_of(self.chain.steps[0].taken).names:
            self._name(name)

    # --- lines -------------------------------------------------------------------------------------------------------

    def bind(self, line: Bind) -> None:
        """A value becomes a column."""
        self.at = line.at
        self.ahead.columns[line.name] = self._value(line.value)
        self._name(line.name)

    def keep(self, line: Keep) -> None:
        """A filter; what fails passes it."""
        test = self._value(line.condition)
        self._mark()
        if self.marked:
            test = Column(f"{test.at(BITOR)} | {_FAILS.text}", BITOR)
        self._compute_for(test)
        self.at = line.at
        self._add(f"filter({test.text})")

    def explode(self, line: Explode, live: set[str]) -> None:
        """The items of lists as records, with the columns that are read behind it."""
        if frames := self._each_item(line, live):
            self._collect()
            self._end_with("frame = columns.in_turn(", *(f"    {each}," for each in frames), ")")
            return
        items = self._value(line.items)
        if self.masks or self.marked:
            self._sound()
        self._compute()
        self.at = line.at
        kept = self._keep_fields(live)
        self._select([*kept.items(), (line.name, items)], varying=bool(kept) or varies(line.items, items))
        self._add(f'explode("{line.name}", empty_as_null=False, keep_nulls=False)')
        self._name(line.name)

    def stamp(self, line: Stamp) -> None:
        """Event time, of records of which none has failed: the clock has to see all of them, and no others."""
        time = self._value(line.time)
        if is_nullable(line.time.type):
            self.masks.append(Column(f"{time.at(ATOM)}.is_null()"))
        self._collect()
        self.at = line.at
        self._end_with(f"frame = clock.stamped(frame, columns.micros({time.text}))")
        self.stamped = True

    def outside(self, line: Outside, step: Step) -> None:
        """A window."""
        match step.op:
            case ops.Window(assigner=windows.Tumbling() as assigner, allowed_lateness_us=lateness):
                self._tumbling(line, assigner, lateness)
            case ops.Window(assigner=windows.Sliding() as assigner, allowed_lateness_us=lateness):
                self._sliding(line, assigner, lateness)
            case ops.Window(assigner=windows.Cumulating() as assigner, allowed_lateness_us=lateness):
                self._cumulating(line, assigner, lateness)
            case ops.Window(assigner=windows.TumblingBy()):
                raise Unsupported("windows whose size is a parameter are found row by row")
            case _:  # a Python function
                raise Unsupported("a Python function by row has no columnar form")

    def end(self) -> None:
        """The columns of the result, and its frame if no record has failed."""
        gives = {name: self._value(value) for name, value in self.block.gives.items()}
        fails = either(_FAILS if self.marked else None, *self.masks)
        gives = self._made_at_last(gives)
        self._compute_for(*gives.values(), *self.masks)
        self.at = len(self.chain.steps) - 1
        pairs = [*gives.items(), *([("@fails", fails)] if fails is not None else [])]
        given = columns_of(self.chain.steps[0].taken).names
        same = tuple(gives) == given and all(column == _column(name) for name, column in gives.items())
        if fails is None and same and not self.made:
            self.lines.append("return query.collect()" if self.started else "return frame")
            return
        varying = any(varies(value, gives[name]) for name, value in self.block.gives.items())
        if fails is None and not self.started and varying:
            self._say()
            self.lines.append(f"return frame.select({self._with_times(selection(pairs))})")
            return
        self._select(pairs, varying=varying or (fails is not None and "pl.col(" in fails.text))
        self.lines.append("return query.collect()" if fails is None else "return columns.sound(query)")

    def _made_at_last(self, gives: dict[str, Column]) -> dict[str, Column]:
        """The results, those columns ahead among them that nothing else asks for."""
        made = dict(gives)
        for name, value in list(reversed(self.ahead.columns.items())):
            others = [*self.masks, *(other for own, other in self.ahead.columns.items() if own != name)]
            places = [each for each, column in made.items() if _mentions(column, name)]
            alone = len(places) == 1 and made[places[0]] == _column(name)
            if alone and not any(_mentions(column, name) for column in others):
                made[places[0]] = value
                del self.ahead.columns[name]
        return made

    # --- windows -----------------------------------------------------------------------------------------------------

    def _tumbling(self, line: Outside, assigner: windows.Tumbling, lateness: int) -> None:
        """The record in its window."""
        size, offset = assigner.size_us, assigner.offset_us
        _refuse_beyond_64_bits(size + lateness)
        start = f'column_time.truncate(pl.col("@time"), pl.lit({size:_}, pl.Int64))'
        start = f'columns.last_start(pl.col("@time"), {size:_}, {offset:_})' if offset else start
        self.at = line.at
        self._say()
        self.lines.append(f"start = {start}")
        self.masks.append(Column(f"columns.too_late(start, {size:_}, {lateness:_})"))
        self.ahead.columns[line.names[0]] = Column(f"columns.window(start, {size:_})")
        self._name(line.names[0])

    def _sliding(self, line: Outside, assigner: windows.Sliding, lateness: int) -> None:
        """The record in each of its windows that is open, or once in its pane."""
        size, every, (window,) = assigner.size_us, assigner.every_us, line.names
        reach = size + every + lateness
        _refuse_beyond_64_bits(reach)
        offset = f", {assigner.offset_us:_}" if assigner.offset_us else ""
        self.at = line.at
        self._say()
        self.lines.append(f"first, last = columns.open_starts({size:_}, {every:_}, {lateness:_}{offset})")
        self.masks.append(Column(f"columns.none_open(first, last, {reach:_})"))
        if self.chain.panes is not None:
            width = self.chain.panes.width_us
            self.ahead.columns[window] = Column(f"columns.pane(first, {size:_}, {width:_}{offset})")
        else:
            self._sound()
            self._add(f'with_columns(pl.int_ranges(first, last + 1, {every:_}).alias("@start"))')
            self._add('explode("@start")')
            self.ahead.columns[window] = Column(f'columns.window(pl.col("@start"), {size:_})')
        self._name(window)

    def _cumulating(self, line: Outside, assigner: windows.Cumulating, lateness: int) -> None:
        """The record in each of its windows that is open, or once in its pane."""
        size, every, offset, (window,) = assigner.size_us, assigner.every_us, assigner.offset_us, line.names
        reach = 2 * size + lateness
        _refuse_beyond_64_bits(reach)
        start = f'columns.last_start(pl.col("@time"), {size:_}, {offset:_})'
        self.at = line.at
        self._say()
        self.lines.append(f"first, last = columns.open_ends({size:_}, {every:_}, {lateness:_}, {offset:_})")
        self.masks.append(Column(f"columns.none_open(first, last, {reach:_})"))
        if self.chain.panes is not None:
            slice_ = f'columns.last_start(pl.col("@time"), {every:_}, {offset % every:_})'
            self.ahead.columns[window] = Column(f"columns.between({slice_}, first)")
        else:
            self._sound()
            self._add(f'with_columns(pl.int_ranges(first, last + 1, {every:_}).alias("@end"))')
            self._add('explode("@end")')
            self.ahead.columns[window] = Column(f'columns.between({start}, pl.col("@end"))')
        self._name(window)

    # --- statements --------------------------------------------------------------------------------------------------

    def _say(self) -> None:
        """The places of the steps up to the one at hand."""
        steps = self.chain.steps[self.said : self.at + 1]
        self.lines += [f"# {step.origin}  {operator_name(step.op)}" for step in steps]
        self.said = max(self.said, self.at + 1)

    def _add(self, call: str) -> None:
        self._say()
        self.lines.append(f"query = {'query' if self.started else 'frame.lazy()'}.{call}")
        self.started = True
        self.made = self.made or not call.startswith("filter(")

    def _select(self, pairs: list[tuple[str, Column]], *, varying: bool) -> None:
        """Only these columns and hidden ones; where none differs from record to record, Polars would make one row."""
        if varying:
            self._add(f"select({self._with_times(selection(pairs))})")
            return
        self._add(f"with_columns({', '.join(selection(pairs))})")
        self._add(f"select({self._with_times([quoted(name) for name, _ in pairs])})")

    def _with_times(self, listed: list[str]) -> str:
        return ", ".join([*listed, "*columns.TIMES"] if self.chain.timed or self.stamped else listed)

    def _compute_for(self, *asking: Column) -> None:
        """The columns ahead, as soon as one is asked for."""
        if any(_mentions(column, name) for column in asking for name in self.ahead.columns):
            self._compute()

    def _compute(self) -> None:
        for level in _levels(self.ahead.columns):
            self._add(f"with_columns({', '.join(selection(level))})")
        self.ahead.columns.clear()

    def _mark(self) -> None:
        """Which records fail becomes a column, where there are masks since the last time."""
        fails = either(_FAILS if self.marked else None, *self.masks)
        if fails is None or not self.masks:
            return
        if self.marked:
            self._compute_for(fails, _FAILS)
        self.ahead.columns["@fails"] = fails
        self.marked = True
        self.masks.clear()

    def _sound(self) -> None:
        """The frame so far, or None for the whole if a record in it fails."""
        self._mark()
        self._compute_for(_FAILS)
        self._end_with("frame = columns.sound(query)", "if frame is None:", "    return None")
        self.marked = False

    def _collect(self) -> None:
        """The frame so far, with all columns that are asked for."""
        if self.masks or self.marked:
            self._sound()
        self._compute()
        if self.started:
            self._end_with("frame = query.collect()")

    def _end_with(self, *lines: str) -> None:
        self._say()
        self.lines += lines
        self.started = False
        self.made = True

    # --- columns -----------------------------------------------------------------------------------------------------

    def _value(self, expr: Expr) -> Column:
        """The column of an expression; the mask of what fails in it is noted."""
        column = self.scope.value(expr)
        if column.fails is not None and column.fails not in self.masks:
            self.masks.append(column.fails)
        return column

    def _name(self, name: str) -> None:
        """A name of the block stands for the column that is called so."""
        self.scope.fields[name, None] = _column(name)

    def _keep_fields(self, live: set[str]) -> dict[str, Column]:
        """Only columns of these names are there from here on; by what they are called."""
        for name, part in list(self.scope.fields):
            if name not in live:
                del self.scope.fields[name, part]
        labels = ((name if part is None else f"{name}.{part}") for name, part in self.scope.fields)
        return {label: _column(label) for label in labels}

    def _each_item(self, line: Explode, live: set[str]) -> list[str]:
        """The frame of each item of a list of records that is made in place; none for any other list. To build lists of
        structs only to take them apart again costs Polars twenty times as much.
        """
        element = self.chain.steps[line.at].given
        if not isinstance(line.items, MakeList) or not isinstance(element, Struct) or not line.items.items:
            return []
        made = [each for each in line.items.items if isinstance(each, MakeStruct)]
        if len(made) < len(line.items.items):
            return []
        self.at = line.at
        columns = [[self._value(value) for value in item.values] for item in made]
        if not all(_any_varies(item, found) for item, found in zip(made, columns, strict=True)):
            return []
        self._collect()
        kept, parts = self._keep_fields(live), [f"{line.name}.{part}" for part in element.names]
        for part, label in zip(element.names, parts, strict=True):
            self.scope.fields[line.name, part] = _column(label)
        frames = ([*kept.items(), *zip(parts, found, strict=True)] for found in columns)
        return [f"frame.select({self._with_times(selection(pairs))})" for pairs in frames]


_LONGEST = 2**59
"""The longest reach of a window (microseconds) for which the columnar form has room in 64 bits."""


def _refuse_beyond_64_bits(reach: int) -> None:
    """Raise `Unsupported` for windows that the columnar form has no room for."""
    if reach > _LONGEST:
        raise Unsupported("windows of ten thousand years leave 64 bits")


def _column(name: str) -> Column:
    return Column(f'pl.col("{name}")')


def _any_varies(item: MakeStruct, columns: list[Column]) -> bool:
    return any(varies(value, column) for value, column in zip(item.values, columns, strict=True))


def _mentions(column: Column, name: str) -> bool:
    return f'pl.col("{name}")' in column.text or f'"{name}"' in column.text


def _levels(columns: dict[str, Column]) -> Iterator[list[tuple[str, Column]]]:
    """The columns in groups, each of which asks only for those before it."""
    places: dict[str, int] = {}
    for name, column in columns.items():
        places[name] = max((at + 1 for other, at in places.items() if _mentions(column, other)), default=0)
    for level in range(max(places.values(), default=-1) + 1):
        yield [(name, columns[name]) for name, at in places.items() if at == level]
