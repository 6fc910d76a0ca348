"""What is told of the values of a key in the order of event time: windows of rows, and a fold that lists its steps."""

from ghcm.codegen.spark.expressions import IN_TURN, Scope, value_binding
from ghcm.codegen.spark.library.sql import fails, quoted, when
from ghcm.codegen.spark.names import variable
from ghcm.codegen.spark.sql import Checked, col, ddl, first
from ghcm.codegen.spark.text import quote, selected, sql_text
from ghcm.spg.sequences import Absent, Preceding, Present, Process, Scan
from ghcm.spg.traits import TIME
from ghcm.types import Collection, is_nullable

_BY = f"ORDER BY {quoted(TIME)}, value"


_OPENS, _SPELL = "`@opens`", "`@spell`"
"""Whether a row comes first or after a silence, and how many of its key have until it."""


def _opening(after_us: int) -> str:
    """The statement that tells of each row whether its key was silent for so long before it."""
    pause = f"try_subtract({quoted(TIME)}, lag({quoted(TIME)}) OVER (PARTITION BY key {_BY}))"
    return f'rows = rows.selectExpr("*", {sql_text(f"coalesce({pause} >= {after_us}L, true) AS {_OPENS}")})'


def _spells(ttl_us: int | None) -> tuple[list[str], list[str]]:
    """The statements that tell of each row which spell of its key it is in, and the columns of a spell."""
    if ttl_us is None:
        return [], ["key"]
    number = f"count_if({_OPENS}) OVER (PARTITION BY key {_BY}) AS {_SPELL}"
    return [_opening(ttl_us), f'rows = rows.selectExpr("*", {sql_text(number)})'], ["key", _SPELL]


def preceding_body(scope: Scope, op: Preceding) -> list[str]:
    """The values before each one, as Spark's windows of rows list them; these leave out nulls, but no structs."""
    lines, spell = _spells(op.ttl_us)
    rows = f"ROWS BETWEEN {op.count} PRECEDING AND 1 PRECEDING"
    each = variable("each")
    listed = f"collect_list(struct(value)) OVER (PARTITION BY {', '.join(spell)} {_BY} {rows})"
    before = f"transform({listed}, {each} -> {each}.value)"
    pair = {"key": col("key"), "value": Checked(f"named_struct('current', value, 'before', {before})")}
    return [*lines, f"return {scope.select(pair)}"]


def present_body(scope: Scope, op: Present) -> list[str]:
    """The rows behind a silence of their key."""
    pair = {name: col(name) for name in ("key", "value")}
    return [_opening(op.after_us), f"rows = rows.where({sql_text(_OPENS)})", f"return {scope.select(pair)}"]


def absent_body(scope: Scope, op: Absent) -> list[str]:
    """The values behind which the next of their key is missing for so long."""
    end, silent = f"try_add({quoted(TIME)}, {op.after_us}L)", quoted("@silent")
    beyond = fails(f"{end} IS NULL", "overflow", "no time is left in which it could be silent")
    pause = f"try_subtract(lead({quoted(TIME)}) OVER (PARTITION BY key {_BY}), {quoted(TIME)})"
    found = sql_text(f"coalesce({pause} >= {op.after_us}L, true) AS {silent}")
    before = f"named_struct('last', value, 'since', timestamp_micros({quoted(TIME)}))"
    columns = {"key": col("key"), "value": Checked(before)}
    if TIME in scope.keep:
        columns = {TIME: Checked(end)} | columns
    return [
        *scope.passed(Checked("", beyond)),
        f'rows = rows.selectExpr("*", {found}).where({sql_text(silent)})',
        f"return {scope.select(columns, hidden=False)}",
    ]


def process_body(scope: Scope, op: Process, gives: Collection) -> list[str]:
    """The call that has the user's function go through the values of each key."""
    types = f"{scope.element(op.state)}, {scope.element(gives.pair[1])}"
    nullable = ", nullable=True" if is_nullable(gives.pair[1]) else ""
    what = f"({quote(op.module)}, {quote(op.function)}), {types}"
    return [f"return processed(job, rows, {scope.step()}, {what}{scope.keeping()}{nullable})"]


_CHUNK = 64
"""How many values of a key are folded into one list. Spark makes a list anew for each item that is put behind it, so
that a list of all would cost the square of their number; what the chunks begin with stands in a list of its own.
"""


def scan_body(scope: Scope, op: Scan) -> list[str]:
    """What the function makes of the values so far, in two folds of the values of a key: one of all of them gives what
    each chunk begins with, and one of each chunk lists what its values gave. The key stands behind what they are sorted
    by, so that each row has its own again.
    """
    lines, spell = _spells(op.ttl_us)
    listed = f"sort_array(collect_list(named_struct('time', {quoted(TIME)}, 'value', value, 'key', key))) AS `@all`"
    told, fails = _told(scope, op)
    why = ["`@why`"] if fails else []
    lists = ", ".join(["`@chunk`", f"slice(`@told`.made, 2, {_CHUNK})", *(["`@told`.why"] if fails else [])])
    zipped = f"inline(arrays_zip({lists})) AS ({', '.join(['`@each`', '`@made`', *why])})"
    parts = [f"`@each`.time AS {quoted(TIME)}", "`@each`.key AS key", "`@each`.value AS value", "`@made`", *why]
    return [
        *lines,
        f"rows = rows.groupBy({', '.join(map(sql_text, spell))}).agg(F.expr({sql_text(listed)}))",
        f"rows = {selected('rows', _chunks())}",
        f"rows = {selected('rows', f'inline(arrays_zip(`@chunks`, {_begins(scope, op)})) AS (`@chunk`, `@begin`)')}",
        f"rows = {selected('rows', '`@chunk`', f'{told} AS `@told`')}",
        f"rows = {selected('rows', zipped)}",
        f"rows = {selected('rows', *parts)}",
        *scope.passed(Checked("", "`@why`" if fails else None)),
        f"return {scope.select({'key': col('key'), 'value': col('@made')})}",
    ]


def _chunks() -> str:
    """The list of `@all` values, cut into chunks; a slice of it would go through the whole."""
    begin, index = variable("begin"), variable("index")
    last = "array_size(`@all`) - 1"
    values = f"transform(sequence({begin}, least({begin} + {_CHUNK - 1}, {last})), {index} -> get(`@all`, {index}))"
    return f"transform(sequence(0, {last}, {_CHUNK}), {begin} -> {values}) AS `@chunks`"


def _begins(scope: Scope, op: Scan) -> str:
    """The list of what each of the `@chunks` begins with."""
    begins, chunk, so_far, each = (variable(word) for word in ("begins", "chunk", "so_far", "each"))
    start, (goes_on, _) = scope.emitter.emit(op.start), _goes_on(scope, op, so_far, each)
    behind = f"aggregate({chunk}, element_at({begins}, -1), ({so_far}, {each}) -> {goes_on})"
    last = "slice(`@chunks`, 1, array_size(`@chunks`) - 1)"
    first_ = f"array(cast({start} AS {ddl(op.function.body.type)}))"
    return f"aggregate({last}, {first_}, ({begins}, {chunk}) -> concat({begins}, array({behind})))"


def _told(scope: Scope, op: Scan) -> tuple[str, bool]:
    """The record of the lists of what a `@chunk` begins with and each of its values gives (`made`), and why one failed
    (`why`), and whether one may.
    """
    so_far, each = variable("so_far"), variable("each")
    goes_on, why = _goes_on(scope, op, f"element_at({so_far}.made, -1)", each)
    types, begins = [f"made: array<{ddl(op.function.body.type)}>"], ["'made', array(`@begin`)"]
    after = [f"'made', concat({so_far}.made, array({goes_on}))"]
    if why is not None:
        types, begins = [*types, "why: array<string>"], [*begins, "'why', array()"]
        after.append(f"'why', concat({so_far}.why, array({why}))")
    state = f"struct<{', '.join(types)}>"
    first_, next_ = (f"cast(named_struct({', '.join(fields)}) AS {state})" for fields in (begins, after))
    return f"aggregate(`@chunk`, {first_}, ({so_far}, {each}) -> {next_})", why is not None


def _goes_on(scope: Scope, op: Scan, so_far: str, each: str) -> tuple[str, str | None]:
    """What comes behind a value: what the function makes of it, or what was before it where that fails; and why."""
    made = scope.emitter.body(op.function, value_binding(Checked(so_far)), value_binding(Checked(f"{each}.value")))
    IN_TURN.check(op.function.body, made)
    why = first(scope.emitter.emit(op.start).error, made.error)
    goes_on = made.value if why is None else when(f"{why} IS NULL", made.value, so_far)
    return f"cast({goes_on} AS {ddl(op.function.body.type)})", why
