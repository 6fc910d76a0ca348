"""What is told of the values of a key in the order of event time: windows of rows, and a fold that lists its steps."""

from ghcm.codegen.spark.expressions import IN_TURN, Scope, value_binding
from ghcm.codegen.spark.library.sql import fails, quoted, when
from ghcm.codegen.spark.names import variable
from ghcm.codegen.spark.sql import Checked, col, ddl, first
from ghcm.codegen.spark.text import sql_text
from ghcm.spg.sequences import Absent, Preceding, Present, Scan
from ghcm.spg.traits import TIME

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


_MADE, _WHY = "`@made`", "`@why`"
"""What a value gave, and why it failed."""


def scan_body(scope: Scope, op: Scan) -> list[str]:
    """What the function makes of the values so far: one fold of all values of a key, which lists what each gave. The
    key stands behind what they are sorted by, so that each row has its own again.
    """
    lines, spell = _spells(op.ttl_us)
    key, value = scope.takes.pair
    so_far, each = variable("so_far"), variable("each")
    bindings = (value_binding(Checked(f"{so_far}.value")), value_binding(Checked(f"{each}.value")))
    made, start = scope.emitter.body(op.function, *bindings), scope.emitter.emit(op.start)
    IN_TURN.check(op.function.body, made)
    why = first(start.error, made.error) or "string(NULL)"
    gives = ddl(op.function.body.type)
    pair = f"{quoted(TIME)}: bigint, key: {ddl(key)}, value: {ddl(value)}"
    row = f"struct<{pair}, {_MADE}: {gives}, {_WHY}: string>"
    given = f"cast(struct({each}.time, {each}.key, {each}.value, {made}, {why}) AS {row})"
    goes_on = when(f"{why} IS NULL", made.value, f"{so_far}.value")
    after = f"named_struct('value', {goes_on}, 'told', concat({so_far}.told, array({given})))"
    state = f"struct<value: {gives}, told: array<{row}>>"
    begins = f"cast(named_struct('value', {start}, 'told', array()) AS {state})"
    steps = f"(aggregate(`@all`, {begins}, ({so_far}, {each}) -> cast({after} AS {state}))).told"
    listed = f"sort_array(collect_list(named_struct('time', {quoted(TIME)}, 'value', value, 'key', key))) AS `@all`"
    return [
        *lines,
        f"rows = rows.groupBy({', '.join(map(sql_text, spell))}).agg(F.expr({sql_text(listed)}))",
        f"rows = rows.selectExpr({sql_text(f'inline({steps})')})",
        f"rows = passed(job, rows, {scope.step()}, {sql_text(_WHY)})",
        f"return {scope.select({'key': col('key'), 'value': col('@made')})}",
    ]
