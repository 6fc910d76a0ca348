"""The user's Python functions that go through the values of each key: all of them in order, then at the moments that
they have named, as a batch has its input whole.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ghcm.codegen.spark.library.job import Job, Step, letters, parted
from ghcm.codegen.spark.library.python_functions import python_folder, user_function
from ghcm.codegen.spark.library.sql import named, quoted
from ghcm.codegen.spark.library.types import (
    INT,
    STRING,
    from_arrow,
    list_of,
    maybe,
    plain,
    plain_columns,
    plain_fields,
    record,
    record_arrays,
    type_of,
    unplain,
)
from ghcm.types import answered_of_key, asked_of_key
from ghcm.values.processing import CallFailed, Kept, Processing


def processed(
    job: Job,
    rows: DataFrame,
    step: Step,
    function: tuple[str, str],
    state: T.DataType,
    gives: T.DataType,
    *,
    keep: Sequence[str] = (),
    nullable: bool = False,
) -> DataFrame:
    """What the user's function gives of each key. Calls that fail are dead letters: of values with their record, of
    moments with their key alone.
    """
    key, value = cast("T.StructType", step.input).fields
    parts = {"time": "`@time`", "value": plain("value", value.dataType), "key": plain("key", key.dataType)}
    each = ", ".join(f"'{name}', {text}" for name, text in parts.items())
    taken = rows.groupBy("key").agg(F.expr(f"sort_array(collect_list(named_struct({each})))").alias("@values"))
    called = _through_python(job, taken.select("@values"), step, function, (state, gives, nullable))
    found = called.selectExpr("inline(`value`)").selectExpr(
        named("time", "@time"),
        *(named(unplain(part.name, part.dataType), part.name) for part in (key, value)),
        named(unplain("made", gives), "made"),
        "why",
    )
    whole, of_key = plain_columns(step.input), record({key.name: maybe(key.dataType) if key.nullable else key.dataType})
    found = parted(
        job, found, "IF(value IS NOT NULL, why, NULL)", lambda failed: letters(job, failed, step, whole), step.input
    )
    found = parted(job, found, "why", lambda failed: letters(job, failed, step, plain_columns(of_key)), of_key)
    return found.selectExpr(*map(quoted, keep), "key", named("made", "value"))


def _through_python(
    job: Job, taken: DataFrame, step: Step, function: tuple[str, str], types: tuple[T.DataType, T.DataType, bool]
) -> DataFrame:
    """Of the list of all values of a key that of what their calls have given, and why one has failed."""
    key, value = cast("T.StructType", step.input).fields
    state, gives, nullable = types
    key_type, value_type = (type_of(part.dataType, nullable=part.nullable) for part in (key, value))
    asked = asked_of_key(key_type, value_type, type_of(state))
    answered = answered_of_key(type_of(gives, nullable=nullable), type_of(state))
    of_call = record(
        time=INT, key=maybe(key.dataType), value=maybe(value.dataType), made=maybe(gives), why=maybe(STRING)
    )
    schema, folder = plain_fields(list_of(of_call)), python_folder(job)
    read_key, read_value = from_arrow(key_type), from_arrow(value_type)

    def run_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_schema

        processing = Processing(user_function(folder, *function), asked, answered)
        for batch in batches:
            told = [
                _of_key(processing, [(v["time"], read_key(v["key"]), read_value(v["value"])) for v in values])
                for values in batch.columns[0].to_pylist(maps_as_pydicts="strict")
            ]
            made = record_arrays([(each,) for each in told], schema)
            yield pyarrow.record_batch(made, schema=to_arrow_schema(schema))

    return taken.mapInArrow(run_batches, schema)


_Told = tuple[int, object, object, object, str | None]
"""The time of a call, its key and value, what it has given, or why it failed."""


def _of_key(processing: Processing, values: Sequence[tuple[int, object, object]]) -> list[_Told]:
    """The calls for all values of a key, and for the moments between and behind them."""
    kept, told = Kept(), list[_Told]()

    def call(key: object, value: object, time: int) -> None:
        try:
            made = processing.call(kept, key, value, time)
        except CallFailed as failure:
            told.append((time, key, value, None, f"{failure.reason}: {failure.detail}"))
        else:
            told.extend((time, key, value, each, None) for each in made)

    def ring(key: object, until: int | None) -> None:
        while (moment := kept.moment) is not None and (until is None or moment <= until):
            call(key, None, moment)

    key: object = None
    for time, next_key, value in values:
        ring(key, time)
        key = next_key
        call(key, value, time)
    ring(key, None)
    return told
