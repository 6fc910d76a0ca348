"""Joins: two data frames side by side, with a column for each field of a record until somebody needs it whole."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from ghcm.codegen.spark.library.job import Job, Step, letters, marked, parted
from ghcm.codegen.spark.library.sql import bare, named, quoted, text, when
from ghcm.codegen.spark.library.types import columns_of, has_columns, plain_record

HOW = {"full": "full_outer", "semi": "left_semi", "anti": "left_anti"}
"""How Spark calls kinds of joins that it calls otherwise."""


class Side(NamedTuple):
    """One side of a join: its rows, the keys of a record, the type of its records, and its hidden columns to keep."""

    rows: DataFrame
    keys: Sequence[str]
    element: DataType
    keep: Sequence[str] = ()
    whole: bool = False
    """Whether its records stand in one column, not in one for each field: those that may be absent in the result."""

    @property
    def names(self) -> list[str]:
        """The columns of a record."""
        return columns_of(self.element).fieldNames()

    def key(self, number: int, side: str) -> str:
        """The name of the column of a key: that of a field where it is one."""
        fields = {} if self.whole else {quoted(name): name for name in self.names}
        field = fields.get(self.keys[number])
        return f"@{number}.{side}" if field is None else f"{side}.{field}"

    def columns(self, side: str) -> list[str]:
        """The columns that hold a record, as names that say of which side it is."""
        return [side] if self.whole else [f"{side}.{name}" for name in self.names]

    def apart(self, side: str, *more: str) -> DataFrame:
        """The rows with names that say of which side they are: of records, keys, hidden columns and `more`."""
        fields = [named(quoted(name), f"{side}.{name}") for name in self.names]
        struct = f"named_struct({', '.join(f'{text(name)}, {quoted(name)}' for name in self.names)})"
        keys = [named(key, self.key(number, side)) for number, key in enumerate(self.keys)]
        return self.rows.selectExpr(
            *(named(quoted(name), f"{name}.{side}") for name in self.keep),
            *(key for key in keys if self.whole or key not in fields),
            *([named(struct, side)] if self.whole else fields),
            *more,
        )

    def record(self, side: str) -> str:
        """The record as one value."""
        if self.whole:
            return quoted(side)
        if not has_columns(self.element):
            return quoted(f"{side}.value")
        parts = (f"{text(name)}, {quoted(f'{side}.{name}')}" for name in self.names)
        return f"named_struct({', '.join(parts)})"


class Residual(NamedTuple):
    """What decides about two records of equal keys, and why it fails: then the `pair` becomes a dead letter of the
    step, and they do not belong together.
    """

    belong: str
    error: str | None = None
    pair: Sequence[str] = ()
    step: Step | None = None


def is_broadcast(rows: DataFrame) -> bool:
    """Whether Spark sends rows to every task that joins them, as far as it knows before they are made."""
    frame: Any = rows  # PySpark has no public way to either
    limit = frame.sparkSession._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()
    return bool(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes() <= limit)


def joined(
    job: Job,
    left: Side,
    right: Side,
    kind: str,
    *,
    within: int | tuple[int, int] | None = None,
    asof: bool = False,
    residual: Residual | None = None,
    whole: bool = True,
) -> DataFrame:
    """The records of both sides whose keys are equal and that the residual does not part, as columns `left` and `right`
    or, if not `whole`, as one column `left.x` for each field x of a side. Null keys never join.
    With `within` their times are at most so many microseconds apart, or the right one is so much later. With `asof` of
    the right records at or before the time of a left one only the latest belongs to it, and of several at that time the
    greatest.
    """
    job.failures[:] = [each._replace(unmade=True) for each in job.failures]
    fails = residual is not None and residual.error is not None
    if whole:
        left = left._replace(whole=kind in ("right", "full") and has_columns(left.element))
        right = right._replace(whole=kind in ("left", "full") and has_columns(right.element))
    sides = (("left", left), ("right", right))
    one, two = (
        side.apart(
            name,
            *([f"true AS {quoted(f'@there.{name}')}"] if fails else []),
            *([f"monotonically_increasing_id() AS {quoted(f'@id.{name}')}"] if fails or asof else []),
        )
        for name, side in sides
    )
    keys = met_by(left, right, within, asof=asof)
    if residual is None:
        rows = one.join(two, F.expr(keys), HOW.get(kind, kind))
    elif not fails:
        rows = one.join(two, F.expr(f"({keys}) AND ({residual.belong})"), HOW.get(kind, kind))
    else:
        rows = sound_pairs(job, one, two, keys, kind, residual)
    if kind in ("semi", "anti"):
        hidden = (named(quoted(f"{name}.left"), name) for name in left.keep)
        return rows.selectExpr(*hidden, *(named(quoted(f"left.{name}"), name) for name in left.names))
    if asof:
        greatest = f"`@time.right` DESC, {right.record('right')} DESC"
        rank = f"row_number() OVER (PARTITION BY `@id.left` ORDER BY {greatest}) AS `@rank`"
        rows = rows.selectExpr("*", rank).where("`@rank` = 1")
    times = [named(f"greatest({quoted(f'{name}.left')}, {quoted(f'{name}.right')})", name) for name in left.keep]
    if whole:
        return rows.selectExpr(*times, *(named(side.record(name), name) for name, side in sides))
    return rows.selectExpr(*times, *(quoted(column) for name, side in sides for column in side.columns(name)))


def met_by(left: Side, right: Side, within: int | tuple[int, int] | None, *, asof: bool) -> str:
    """The condition of equal keys and of times that are near enough."""
    pairs = ((left.key(number, "left"), right.key(number, "right")) for number in range(len(left.keys)))
    tests = [f"{quoted(key)} = {quoted(other)}" for key, other in pairs]
    if within is not None:
        one, two = (f"cast(`@time.{side}` AS decimal(20, 0))" for side in ("left", "right"))
        apart = f"abs({one} - {two}) <= {within}"
        tests.append(apart if isinstance(within, int) else f"{two} - {one} BETWEEN {within[0]} AND {within[1]}")
    return " AND ".join([*tests, *(["`@time.right` <= `@time.left`"] if asof else [])])


def sound_pairs(job: Job, one: DataFrame, two: DataFrame, keys: str, kind: str, residual: Residual) -> DataFrame:
    """The pairs of a residual that may fail, and the records that are in none where the kind keeps these. It is asked
    once for each pair of equal keys; whose pairs are all unsound is found among them.
    """
    belong, error, step = residual.belong, residual.error, residual.step
    assert error is not None and step is not None

    def as_letters(failed: DataFrame) -> DataFrame:
        return letters(job, failed.selectExpr("`@error`", *residual.pair), step, plain_record(step.input))

    if kind == "inner":
        pairs = one.join(two, F.expr(keys), "inner")
        return parted(job, pairs, error, as_letters, step.input).where(bare(belong))
    how = {"semi": "inner", "anti": "left"}.get(kind) or HOW.get(kind, kind)
    both = "`@there.left` AND `@there.right`"
    rows = marked(job, one.join(two, F.expr(keys), how), when(both, error), as_letters, step.input)
    rows = rows.selectExpr("*", f"coalesce({both} AND `@error` IS NULL AND ({belong}), false) AS `@sound`")
    ranks = {
        side: f"row_number() OVER (PARTITION BY `@id.{side}` ORDER BY `@sound` DESC) AS `@rank.{side}`"
        for side in ("left", "right")
    }
    if kind in ("semi", "anti"):
        found = "`@sound`" if kind == "semi" else "NOT `@sound`"
        return rows.selectExpr("*", ranks["left"]).where(f"{found} AND `@rank.left` = 1")
    kept = {"left": ["left"], "right": ["right"]}.get(kind, ["left", "right"])
    rows = rows.selectExpr("*", *(ranks[side] for side in kept))
    parts = ["if(`@sound`, 'both', NULL)"]
    parts += [f"if(`@there.{side}` AND NOT `@sound` AND `@rank.{side}` = 1, '{side}', NULL)" for side in kept]
    rows = rows.selectExpr("*", f"explode(array_compact(array({', '.join(parts)}))) AS `@as`")
    return rows.selectExpr(
        *(named(f"if(`@as` IN ('both', 'left'), {quoted(name)}, NULL)", name) for name in one.columns),
        *(named(f"if(`@as` IN ('both', 'right'), {quoted(name)}, NULL)", name) for name in two.columns),
    )
