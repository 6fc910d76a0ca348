"""The user's Python functions, by row and by batch; of a batch that fails only the bad records are dead letters."""

import importlib
import os
import sys
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, TypeAlias, cast

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ghcm.codegen.spark.library.job import Job, Step, letters, parted
from ghcm.codegen.spark.library.sql import named, quoted
from ghcm.codegen.spark.library.types import (
    columns_of,
    from_arrow,
    has_columns,
    plain_columns,
    plain_fields,
    plain_record,
    record_arrays,
    record_columns,
    type_of,
)
from ghcm.values.awaited import Awaiting, Limits, Raised
from ghcm.values.exchange import exchange_of
from ghcm.values.texts import writable

UserFunction: TypeAlias = Callable[[Any], Any]
Result: TypeAlias = tuple[Sequence[Any] | None, str | None]
"""The columns of a result, or why there is none."""
Take: TypeAlias = Callable[[Any], list[Any]]
"""Makes of what a function has given the columns of a result."""


def python_rows(
    job: Job,
    rows: DataFrame,
    step: Step,
    module: str,
    function: str,
    element: T.DataType,
    *,
    keep: Sequence[str] = (),
    nullable: bool = False,
) -> DataFrame:
    """What the user's function makes of each record; exceptions and results of another type are dead letters."""

    def outcomes(called: UserFunction, records: list[Any], take: Take) -> list[Result]:
        return [result_of(called, record, take) for record in records]

    return _by_records(job, rows, step, (module, function), outcomes, element, keep, nullable)


def python_awaited(
    job: Job,
    rows: DataFrame,
    step: Step,
    function: tuple[str, str],
    element: T.DataType,
    limits: tuple[int, int | None, int],
    *,
    keep: Sequence[str] = (),
    nullable: bool = False,
) -> DataFrame:
    """As `python_rows`, of an async function (its module and name) with the `Limits` of its calls."""

    def outcomes(called: UserFunction, records: list[Any], take: Take) -> list[Result]:
        async def awaited(record: Any) -> Any:
            return await called(record)

        made: dict[int, Result] = {}
        with closing(Awaiting(awaited, Limits(*limits))) as awaiting:
            for some in awaiting.results(records):
                made |= {place: result_of(given_or_raised, outcome, take) for place, outcome in some}
        return [made[place] for place in range(len(records))]

    return _by_records(job, rows, step, function, outcomes, element, keep, nullable)


def _by_records(
    job: Job,
    rows: DataFrame,
    step: Step,
    function: tuple[str, str],
    outcomes: Callable[[UserFunction, list[Any], Take], list[Result]],
    element: T.DataType,
    keep: Sequence[str],
    nullable: bool,
) -> DataFrame:
    """The records through a function that takes them one by one, whose `outcomes` are told for many."""
    type_ = type_of(step.input, nullable=True)
    read, hand, take = from_arrow(type_), exchange_of(type_).hand, taker(element, nullable)

    def call(called: UserFunction, records: Any) -> list[Result]:
        return outcomes(lambda each: called(hand(read(each))), records.to_pylist(maps_as_pydicts="strict"), take)

    taken = rows.selectExpr(*map(quoted, keep), named(plain_record(step.input), "@record"))
    return through_python(job, taken, step, function, call, element, keep, "`@record`")


def given_or_raised(outcome: Any) -> Any:
    """What an async call has given; raises what it has raised."""
    if isinstance(outcome, Raised):
        raise outcome.error
    return outcome


def python_batches(
    job: Job,
    rows: DataFrame,
    step: Step,
    module: str,
    function: str,
    element: T.DataType,
    *,
    keep: Sequence[str] = (),
    nullable: bool = False,
) -> DataFrame:
    """What the user's function makes of tables of records; of a batch that fails the bad records are dead letters."""
    given, take = columns_of(step.input), taker(element, nullable)

    def take_one(result: Any) -> list[Any]:
        return take(batch_records(result, element, 1)[0])

    def call(called: UserFunction, records: Any) -> list[Result]:
        import pyarrow

        parts = zip(records.flatten(), given.fields, strict=True)
        arrays: list[Any] = [array.cast(arrow_form(part.dataType)) for array, part in parts]
        table = pyarrow.table(arrays, names=given.fieldNames())
        try:
            return [(take(each), None) for each in batch_records(called(table), element, table.num_rows)]
        except Exception:  # whatever it is, the replay says which record it is about
            slices = (table.slice(index, 1) for index in range(table.num_rows))
            return [result_of(called, each, take_one) for each in slices]

    taken = rows.selectExpr(*map(quoted, keep), named(plain_columns(step.input), "@record"))
    record = "`@record`" if has_columns(step.input) else "`@record`.`value`"
    return through_python(job, taken, step, (module, function), call, element, keep, record)


def through_python(
    job: Job,
    taken: DataFrame,
    step: Step,
    named_there: tuple[str, str],
    call: Callable[[UserFunction, Any], list[Result]],
    element: T.DataType,
    keep: Sequence[str],
    record: str,
) -> DataFrame:
    """What the user's function (its module and name) makes of the `@record` behind the columns to keep. Of those that
    fail `record` is in the dead letters.
    """
    folder, hiding, fields = python_folder(job), len(keep), plain_fields(element)
    schema = T.StructType([*taken.schema.fields, *fields.fields, T.StructField("@failure", T.StringType())])

    def run_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_schema

        arrow = to_arrow_schema(schema)
        called = user_function(folder, *named_there)
        for batch in batches:
            results = call(called, batch.columns[hiding])
            kept = [array.cast(type_) for array, type_ in zip(batch.columns, arrow.types, strict=False)]
            made = record_arrays([row for row, _ in results], fields)
            errors = pyarrow.array([error for _, error in results], pyarrow.string())
            yield pyarrow.record_batch([*kept, *made, errors], schema=arrow)

    called = taken.mapInArrow(run_batches, schema)
    called = parted(job, called, "`@failure`", lambda failed: letters(job, failed, step, record), step.input)
    return called.selectExpr(*map(quoted, keep), *record_columns(element))


def python_folder(job: Job) -> str:
    """The folder of the user's modules, beside the folder of the job."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(job.file))), "python")


def user_function(folder: str, module: str, function: str) -> Callable[[Any], Any]:
    """The function of a module in that folder, and no module of the same name from the bundle of another job."""
    for name, loaded in list(sys.modules.items()):
        home = getattr(loaded, "__ghcm_folder__", folder)
        if home != folder:
            del sys.modules[name]
    before = set(sys.modules)
    sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module)
    finally:
        sys.path.remove(folder)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(folder + os.sep):
            sys.modules[name].__dict__["__ghcm_folder__"] = folder
    for part in function.split("."):
        found = getattr(found, part)
    return cast("Callable[[Any], Any]", found)


def taker(element: T.DataType, nullable: bool) -> Take:
    """The function that gives the columns of a result; TypeError or ValueError where it is of another type."""
    take = exchange_of(type_of(element, nullable=nullable)).take
    return (lambda result: list(take(result))) if has_columns(element) else (lambda result: [take(result)])


def result_of(called: UserFunction, given: Any, take: Take) -> Result:
    """The columns of the result for what is given, or why there is none."""
    try:
        result = called(given)
    except (Exception, CancelledError, SystemExit) as error:  # whatever it is, it is about this record only
        return None, writable(f"python: {type(error).__name__}: {error}"[:4000])
    try:
        return take(result), None
    except Exception as error:  # a result of any kind may refuse to be looked at
        return None, writable(f"wrong_result: {error}"[:4000])


def batch_records(result: Any, element: T.DataType, count: int) -> list[Any]:
    """The records of a result as Python's own objects; ValueError where they are not as many as were given."""
    import pyarrow

    found: list[Any]
    match result:
        case pyarrow.Table() | pyarrow.RecordBatch():
            found = result.to_pylist(maps_as_pydicts="strict")
            if not has_columns(element):
                found = [next(iter(each.values())) for each in found if len(each) == 1]
        case pyarrow.Array() | pyarrow.ChunkedArray():
            found = [*result.to_pylist(maps_as_pydicts="strict")]
        case list():
            found = [*result]
        case _:
            raise ValueError(f"expected a table, an array or a list, found {type(result).__name__}")
    if len(found) != count:
        raise ValueError(f"expected {count} records, found {len(found)}")
    return found


def arrow_form(type_: T.DataType) -> Any:
    """The Arrow type that the user's function is given."""
    import pyarrow

    match type_:
        case T.TimestampType():
            return pyarrow.timestamp("us", "UTC")
        case T.DayTimeIntervalType():
            return pyarrow.duration("us")
        case T.DateType():
            return pyarrow.date32()
        case T.ArrayType():
            return pyarrow.list_(arrow_form(type_.elementType))
        case T.MapType():
            return pyarrow.map_(arrow_form(type_.keyType), arrow_form(type_.valueType))
        case T.StructType():
            return pyarrow.struct([(part.name, arrow_form(part.dataType)) for part in type_.fields])
        case _:
            from pyspark.sql.pandas.types import to_arrow_type

            return to_arrow_type(type_)
