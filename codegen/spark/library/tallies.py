"""Counts and dead letters that tasks send back while they make rows.

Accumulators of Spark's, to which an expression adds. SQL has no word for that, and `observe` is a node of its own,
which takes every row out of the loop that Spark generates for a stage. So the expression is made of Catalyst's own: a
bean whose setter is `add`, asked whether it is zero, which it is not then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import DataType


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows a step has made and how many failed, and of these the letters that came with the count.

    Rows of tasks that Spark ran again count again: whether there are any is what can be relied on.
    """

    spark: SparkSession
    made: Any
    failed: Any
    letters: Any

    @staticmethod
    def of(spark: SparkSession) -> Tally:
        """Nothing yet."""
        context: Any = spark.sparkContext._jsc  # pyright: ignore[reportPrivateUsage]  (PySpark's own take no rows)
        scala = context.sc()
        return Tally(spark, scala.longAccumulator(), scala.longAccumulator(), scala.collectionAccumulator())

    @property
    def count(self) -> int | None:
        """How many rows failed; None where none was made that is known of."""
        failed = self.failed.value() + self.letters.value().size()
        return failed if failed or self.made.value() else None

    def marked(self, rows: DataFrame) -> DataFrame:
        """The rows, counted by their column `@error`, which stays as it is."""
        told = F.when(F.col("@error").isNull(), self._one_more(self.made)).otherwise(self._one_more(self.failed))
        return rows.withColumn("@error", F.when(~told, F.col("@error")))

    def sound(
        self, rows: DataFrame, letter: str | None = None, type_: DataType | None = None, when: str = "true"
    ) -> DataFrame:
        """The rows whose column `@error` is null, and all counted by it. Of failing ones `when` says whether their
        `letter`, a struct in SQL of that type, is sent back too.

        No filter behind this one is put in its place, as it gives no function of the row.
        """
        failed = self._one_more(self.failed)
        if letter is not None and type_ is not None:
            sent = self._added(self.letters, self._copied(F.expr(letter), type_))
            failed = F.when(F.expr(when), sent).otherwise(failed)
        return rows.where(F.when(F.col("@error").isNull(), ~self._one_more(self.made)).otherwise(failed))

    def collected(self, type_: DataType) -> DataFrame | None:
        """The letters, which are of that type; None where not all have come."""
        if self.failed.value():
            return None
        java: Any = self.spark._jsparkSession  # pyright: ignore[reportPrivateUsage]
        context: Any = self.spark.sparkContext._jsc  # pyright: ignore[reportPrivateUsage]
        rows = java.internalCreateDataFrame(
            context.parallelize(self.letters.value()).rdd(), java.parseDataType(type_.json()), False
        )
        return DataFrame(rows, self.spark)

    def _one_more(self, accumulator: Any) -> Column:
        return self._added(accumulator, F.lit(1).cast("bigint"))

    def _added(self, accumulator: Any, value: Column) -> Column:
        """False, when a value has been added."""
        adds = self._class("api.python.PythonUtils").toScalaMap({"add": self._columns.expression(value._jc)})
        bean = self._catalyst("objects.InitializeJavaBean")(self._catalyst("Literal").fromObject(accumulator), adds)
        return self._asked(bean, "isZero", '"boolean"')

    def _copied(self, value: Column, type_: DataType) -> Column:
        """A struct that keeps its value when Spark goes on to the next row."""
        return self._asked(self._columns.expression(value._jc), "copy", type_.json())

    def _asked(self, of: Any, method: str, type_: str) -> Column:
        """What a method gives, which is called for each row as it is no function of it."""
        java: Any = self.spark._jsparkSession  # pyright: ignore[reportPrivateUsage]
        none, given = self._class("api.python.PythonUtils").toSeq([]), java.parseDataType(type_)
        called = self._catalyst("objects.Invoke")(of, method, given, none, none, True, False, False)
        return ClassicColumn(self._columns.column(called))

    @property
    def _columns(self) -> Any:
        return self._class("sql.classic.ExpressionUtils")

    def _catalyst(self, name: str) -> Any:
        return self._class(f"sql.catalyst.expressions.{name}")

    def _class(self, name: str) -> Any:
        """A class of Spark's by its whole name: Java looks for each part of a name alone in all jars, in vain."""
        jvm: Any = self.spark.sparkContext._jvm  # pyright: ignore[reportPrivateUsage]
        return getattr(jvm, f"org.apache.spark.{name}")
