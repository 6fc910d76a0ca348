"""What Spark's readers are in doubt of goes to the exact reader, in a Python worker beside them: one pass over the
input, in which all other records stay in Spark.

The exact reader decides: a record, or a dead letter. The letters come back with the tasks that found them, so that
nothing is read a second time for them but to count lines; only where there are too many are they made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

from pyspark import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from ghcm.codegen.spark.library.sql import named, part, quoted
from ghcm.codegen.spark.library.types import columns_of, plain_fields, record_arrays, unplain
from ghcm.formats.records import Row

Decoded: TypeAlias = tuple[Row | None, str | None]
"""A record, or else why there is none; neither where a text holds nothing."""
Opening: TypeAlias = Callable[[], Callable[[bytes], Decoded]]
"""Gives what decodes texts; a Python worker asks for it."""
Place: TypeAlias = tuple[str, int, int]
"""Where a text stands: its file as Spark names it, the first byte of the piece of it, and its row there from 1."""

LONGEST = 16_384
"""Characters of a raw text that a dead letter holds."""
KEPT_BYTES = 4 << 20
"""So much of the dead letters of a source is kept while it is read."""


class Kept(NamedTuple):
    """What has come back of a source: dead letters by their places, which are the same when a task runs again, their
    size, and whether any task has run, and whether there were more letters.
    """

    letters: Mapping[Place, tuple[str, str]] = {}
    size: int = 0
    ran: bool = False
    more: bool = False


class _Together(AccumulatorParam[Kept]):
    def zero(self, value: Kept) -> Kept:
        return Kept()

    def addInPlace(self, value1: Kept, value2: Kept) -> Kept:
        one, two = Kept(*value1), Kept(*value2)
        if one.more or two.more or one.size + two.size > KEPT_BYTES:
            return Kept(ran=True, more=True)
        return Kept({**one.letters, **two.letters}, one.size + two.size, one.ran or two.ran)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The dead letters of one source, as they come back."""

    kept: Any
    """An accumulator of Spark's, which workers are given too."""

    @staticmethod
    def of(spark: SparkSession) -> Gathered:
        """Nothing yet."""
        return Gathered(spark.sparkContext.accumulator(Kept(), _Together()))

    @property
    def found(self) -> Kept:
        """What has come back so far."""
        return Kept(*self.kept.value)

    @property
    def count(self) -> int | None:
        """How many letters there are, of as many as came back; None where no task has run."""
        found = self.found
        return len(found.letters) + found.more if found.ran else None

    def let_go(self) -> None:
        """Keep no letters any more, late ones neither: PySpark never forgets an accumulator."""
        self.kept.value = Kept(ran=True, more=True)

    def add(self, kept: Kept) -> None:
        """Send back what a task found."""
        self.kept.add(kept)


DOUBTFUL = "concat(`@file`, '\\n', `@block`, '\\n', `@row`, '\\n', `@text`)"
"""A text with its place."""


def settled(
    rows: DataFrame, element: Any, doubt: str, value: Callable[[str], str], opening: Opening, gathered: Gathered
) -> DataFrame:
    """The rows (of `@text` and its place) with the columns of their records in `@record`, as `value` says of a column
    or where that is in `doubt` as the exact reader says; in `@broken` why there is none, and the text with its place
    in `@doubtful`. Rows without text have gone.
    """
    names = {column.name: f"@plain.{column.name}" for column in columns_of(element).fields}
    plain = (named(value(name), plain_name) for name, plain_name in names.items())
    rows = rows.selectExpr(*plain, f"CASE WHEN {doubt} THEN {DOUBTFUL} END AS `@doubtful`")
    fields = StructType([*plain_fields(element).fields, StructField("@broken", StringType())])
    of_spark: Any = F
    read = of_spark.arrow_udf(exact_reader(opening, fields, gathered), fields)
    read = read.asNondeterministic()  # else Spark calls it once for the columns and once more for the filter
    rows = rows.withColumn("@exact", read("@doubtful"))
    columns = (
        named(
            f"CASE WHEN `@doubtful` IS NULL THEN {quoted(names[column.name])} "
            f"ELSE {unplain(part('`@exact`', column.name), column.dataType)} END",
            column.name,
        )
        for column in columns_of(element).fields
    )
    return rows.selectExpr(*columns, "`@exact`.`@broken` AS `@broken`", "`@doubtful`").where(
        "`@broken` IS NULL OR `@broken` != ''"
    )


def exact_reader(opening: Opening, fields: StructType, gathered: Gathered) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that reads doubtful texts: null of nothing, an empty `@broken` of what holds nothing."""
    import pyarrow
    from pyspark.sql.pandas.types import to_arrow_type

    whole: Any = to_arrow_type(fields)
    width = len(fields) - 1

    def read(columns: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        arrow: Any = pyarrow
        decode: Callable[[bytes], Decoded] | None = None
        for column in columns:
            if column.null_count == len(column):
                gathered.add(Kept(ran=True))
                yield arrow.nulls(len(column), whole)
                continue
            decode = decode or opening()
            found = [_decoded(each, decode) for each in _as_bytes(column.drop_null())]
            gathered.add(_kept(found))
            arrays = record_arrays([each.record for each in found], StructType(fields.fields[:width]))
            arrays.append(arrow.array([each.error for each in found], arrow.string()))
            yield arrow.StructArray.from_arrays(arrays, fields=list(whole)).take(_ranks(column))

    arrow_: Any = pyarrow
    arrays: Any = Iterator[arrow_.Array]
    read.__annotations__ = {"columns": arrays, "return": arrays}  # by which Spark knows how to call it
    return read


def _as_bytes(column: Any) -> list[bytes]:
    """Texts that may be no UTF-8."""
    import pyarrow

    arrow: Any = pyarrow
    return cast("list[bytes]", column.cast(arrow.binary()).to_pylist())


def _ranks(column: Any) -> Any:
    """The place of each value among those that are not null; null of the others."""
    import pyarrow
    from pyarrow import compute

    arrow: Any = pyarrow
    functions: Any = compute
    valid = column.is_valid()
    ranks = functions.subtract(functions.cumulative_sum(valid.cast(arrow.int64())), 1)
    return functions.if_else(valid, ranks, arrow.scalar(None, arrow.int64()))


class _Found(NamedTuple):
    """What a doubtful text is: a record, or why it is none; an empty error of what holds nothing."""

    doubtful: bytes
    record: Row | None
    error: str | None


def _decoded(doubtful: bytes, decode: Callable[[bytes], Decoded]) -> _Found:
    record, error = decode(doubtful.split(b"\n", 3)[3])
    return _Found(doubtful, record, "" if record is None and error is None else error)


def _kept(found: Sequence[_Found]) -> Kept:
    """The dead letters among them, to send back."""
    letters: dict[Place, tuple[str, str]] = {}
    for each in found:
        if each.error:
            file, block, row, text = each.doubtful.split(b"\n", 3)
            told = text[: 4 * LONGEST].decode("utf-8", "replace").removesuffix("\r")[:LONGEST]
            letters[file.decode(), int(block), int(row)] = (told, each.error)
    size = sum(len(text) + len(error) + 64 for text, error in letters.values())
    return Kept({}, 0, True, True) if size > KEPT_BYTES else Kept(letters, size, True)
