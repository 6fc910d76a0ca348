"""Counts and dead letters that tasks send back while they make rows.

Accumulators of Spark's, to which an expression adds. SQL has no word for that, and `observe` is a node of its own,
which takes every row out of the loop that Spark generates for a stage. So the expression is made of Catalyst's own: a
bean whose setter is `add`, asked whether it is zero, which it is not then. Each part of it is one message to Java, as
a job of many sources makes many: classes are named as a whole, and SQL is parsed to expressions and not to columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import DataType

_CATALYST = "org.apache.spark.sql.catalyst.expressions"
_SOUND = "`@error` IS NULL"
_FIELDS_OF_PLANS = "spark.sql.debug.maxToStringFields"


@dataclass(frozen=True, slots=True)
class Tally:
    """Whether a step has made rows and how many failed, and of these the letters that came with the count.

    Rows of tasks that Spark ran again count again: whether there are any is what can be relied on.
    """

    spark: SparkSession
    rows: Any
    """Adds 1 for a row that failed, and 0 for the first that did not of a task: how often it has added is told too."""
    letters: Any

    @staticmethod
    def of(spark: SparkSession) -> Tally:
        """Nothing yet."""
        context: Any = spark.sparkContext._jsc  # pyright: ignore[reportPrivateUsage]  (PySpark's own take no rows)
        scala = context.sc()
        return Tally(spark, scala.longAccumulator(), scala.collectionAccumulator())

    @property
    def count(self) -> int | None:
        """How many rows failed; None where none was made that is known of."""
        failed = self.rows.sum() + self.letters.value().size()
        return failed if failed or self.rows.count() else None

    def is_asked_by(self, rows: DataFrame) -> bool:
        """Whether Spark counts where it makes these rows, as far as the text of their plan says."""
        java: Any = rows._jdf  # pyright: ignore[reportPrivateUsage]  (there is no public way)
        before = self.spark.conf.get(_FIELDS_OF_PLANS) or "25"
        self.spark.conf.set(_FIELDS_OF_PLANS, 2**31 - 1)
        try:
            return f"Accumulator(id: {self.rows.id()}," in java.queryExecution().optimizedPlan().toString()
        finally:
            self.spark.conf.set(_FIELDS_OF_PLANS, before)

    def marked(self, rows: DataFrame) -> DataFrame:
        """The rows, counted by their column `@error`, which stays as it is."""
        told = self._one_of(_SOUND, self._made(), self._catalyst("Not")(self._counted("1L")))
        kept = self._one_of(told, self._parsed("`@error`"), self._parsed("NULL"))
        return rows.withColumn("@error", self._column(kept))

    def sound(
        self, rows: DataFrame, letter: str | None = None, type_: DataType | None = None, when: str = "true"
    ) -> DataFrame:
        """The rows whose column `@error` is null, and all counted by it. Of failing ones `when` says whether their
        `letter`, a struct in SQL of that type, is sent back too.

        No filter behind this one is put in its place, as it gives no function of the row.
        """
        failed = self._counted("1L")
        if letter is not None and type_ is not None:
            failed = self._one_of(when, self._sent(letter, type_), failed)
        return rows.where(self._column(self._one_of(_SOUND, self._made(), failed)))

    def collected(self, type_: DataType) -> DataFrame | None:
        """The letters, which are of that type; None where not all have come."""
        if self.rows.sum():
            return None
        context: Any = self.spark.sparkContext._jsc  # pyright: ignore[reportPrivateUsage]
        rows = self._java.internalCreateDataFrame(
            context.parallelize(self.letters.value()).rdd(), self._java.parseDataType(type_.json()), False
        )
        return DataFrame(rows, self.spark)

    def _made(self) -> Any:
        """True; the first time that a task asks, it tells that it has made a row. Whether it is the first only the
        accumulator is asked: Spark ends a stage at a union of rows that have a number in their task.
        """
        first = self._asked(self._catalyst("Literal").fromObject(self.rows), "isZero", '"boolean"')
        return self._one_of(first, self._catalyst("Not")(self._counted("0L")), self._parsed("true"))

    def _counted(self, number: str) -> Any:
        return self._added(self.rows, self._parsed(number))

    def _sent(self, letter: str, type_: DataType) -> Any:
        """A letter keeps its value when Spark goes on to the next row: it is a copy."""
        return self._added(self.letters, self._asked(self._parsed(letter), "copy", type_.json()))

    def _added(self, accumulator: Any, value: Any) -> Any:
        """False, when a value has been added."""
        setters = self._class("scala.collection.immutable.Map$Map1")("add", value)
        literal = self._catalyst("Literal").fromObject(accumulator)
        return self._asked(self._catalyst("objects.InitializeJavaBean")(literal, setters), "isZero", '"boolean"')

    def _asked(self, of: Any, method: str, type_: str) -> Any:
        """What a method gives, which is called for each row as it is no function of it."""
        none = getattr(self._class("scala.collection.immutable.Nil$"), "MODULE$")
        given = self._java.parseDataType(type_)
        return self._catalyst("objects.Invoke")(of, method, given, none, none, True, False, False)

    def _one_of(self, condition: Any, one: Any, other: Any) -> Any:
        """An expression where a condition (an expression or SQL) is true, and another where it is not."""
        asked = self._parsed(condition) if isinstance(condition, str) else condition
        return self._catalyst("If")(asked, one, other)

    def _parsed(self, sql: str) -> Any:
        return self._java.sessionState().sqlParser().parseExpression(sql)

    def _column(self, expression: Any) -> Column:
        return ClassicColumn(self._class("org.apache.spark.sql.classic.ExpressionUtils").column(expression))

    def _catalyst(self, name: str) -> Any:
        return self._class(f"{_CATALYST}.{name}")

    def _class(self, name: str) -> Any:
        """A class by its whole name: Java looks for each part of a name alone in all jars, in vain."""
        return getattr(self.spark.sparkContext._jvm, name)  # pyright: ignore[reportPrivateUsage]

    @property
    def _java(self) -> Any:
        return self.spark._jsparkSession  # pyright: ignore[reportPrivateUsage]
