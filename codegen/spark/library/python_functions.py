"""The user's Python functions, by row and by batch; of a batch that fails only the bad records are dead letters."""

from __future__ import annotations

import importlib
import operator
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ghcm.codegen.spark.library.job import Job, Step, letters, parted
from ghcm.codegen.spark.library.sql import named, quoted
from ghcm.codegen.spark.library.types import (
    EnumType,
    columns_of,
    has_columns,
    plain_columns,
    plain_record,
    plain_type,
    type_of,
    unplain,
)


def python_folder(job: Job) -> str:
    """The folder of the user's modules, beside the folder of the job."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(job.file))), "python")


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
    taken = rows.selectExpr(*map(quoted, keep), named(plain_record(step.input), "@record"))
    hiding = [taken.schema[name] for name in keep]
    columns = [T.StructField(part.name, plain_type(part.dataType)) for part in columns_of(element).fields]
    taken_type = T.StructField("@record", plain_type(step.input))
    schema = T.StructType([*hiding, taken_type, *columns, T.StructField("@failure", T.StringType())])
    call = caller(python_folder(job), module, function, step.input, element, len(keep), schema, nullable)
    called = taken.mapInArrow(call, schema)
    called = parted(job, called, "`@failure`", lambda failed: letters(job, failed, step, "`@record`"), step.input)
    results = [named(unplain(quoted(p.name), p.dataType), p.name) for p in columns_of(element).fields]
    return called.selectExpr(*map(quoted, keep), *results)


def caller(
    folder: str,
    module: str,
    function: str,
    input: T.DataType,
    element: T.DataType,
    hiding: int,
    schema: T.StructType,
    nullable: bool,
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that Spark's Python workers run on batches of records."""

    def run_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_schema

        arrow = to_arrow_schema(schema)
        called = user_function(folder, module, function)
        given = given_form(input)
        for batch in batches:
            kept = [column.to_pylist() for column in batch.columns[:hiding]]
            records = batch.columns[hiding].to_pylist(maps_as_pydicts="strict")
            results = [result_of(called, given, record, element, nullable) for record in records]
            width = len(columns_of(element).fields)
            columns = [*kept, records, *([row[index] for row, _ in results] for index in range(width))]
            columns.append([error for _, error in results])
            arrays = [pyarrow.array(values, type=type_) for values, type_ in zip(columns, arrow.types, strict=True)]
            yield pyarrow.record_batch(arrays, schema=arrow)

    return run_batches


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


def given_form(type_: T.DataType) -> Callable[[Any], Any]:
    """From what Arrow gives to what the user's function is given: moments as datetime, structs as tuples with names."""
    made = given_value(type_)
    return lambda value: None if value is None else made(value)


def given_value(type_: T.DataType) -> Callable[[Any], Any]:
    """As `given_form`, for what is no null."""
    match type_:
        case T.TimestampType():
            return lambda value: EPOCH + timedelta(microseconds=value)
        case T.DayTimeIntervalType():
            return lambda value: timedelta(microseconds=value)
        case T.DateType():
            return lambda value: date.fromordinal(value + 719_163)
        case T.StructType():
            members = {part.name: property(operator.itemgetter(index)) for index, part in enumerate(type_.fields)}
            made = type("Record", (tuple,), members)
            parts = [(part.name, given_form(part.dataType)) for part in type_.fields]
            return lambda value: made(form(value[name]) for name, form in parts)
        case T.ArrayType():
            each = given_form(type_.elementType)
            return lambda value: [each(item) for item in value]
        case T.MapType():
            key, held = given_form(type_.keyType), given_form(type_.valueType)
            return lambda value: {key(name): held(item) for name, item in value.items()}
        case _:
            return lambda value: value


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def result_of(
    called: Callable[[Any], Any], given: Callable[[Any], Any], record: Any, element: T.DataType, nullable: bool
) -> tuple[list[Any], str | None]:
    """The columns of the result, or why there is none."""
    nothing = [None] * len(columns_of(element).fields)
    try:
        result = called(given(record))
    except Exception as error:  # whatever a user's function raises is about this record only
        return nothing, f"python: {type(error).__name__}: {error}"[:4000]
    try:
        value = taken_form(result, element, nullable)
    except (TypeError, ValueError, OverflowError) as error:
        return nothing, f"wrong_result: {error}"[:4000]
    return (list(value.values()) if has_columns(element) else [value]), None


def taken_form(value: Any, type_: T.DataType, nullable: bool = False) -> Any:
    """The user's result in the form for Spark; ValueError where it is of another type."""

    def check(holds: bool, form: Any) -> Any:
        if not holds:
            raise ValueError(f"expected {type_of(type_)}, found {type(value).__name__}")
        return form

    if value is None:
        return check(nullable or isinstance(type_, T.NullType), None)
    whole = isinstance(value, int) and not isinstance(value, bool)
    match type_:
        case T.BooleanType():
            return check(isinstance(value, bool), value)
        case T.LongType():
            return check(whole and -(2**63) <= value < 2**63, value)
        case T.IntegerType():
            return check(whole and -(2**31) <= value < 2**31, value)
        case T.DoubleType():
            return float(check(whole or isinstance(value, float), value))
        case EnumType(values=values):
            value = getattr(value, "value", value)
            return check(value in values, value)
        case T.StringType():
            return check(isinstance(value, str), value)
        case T.BinaryType():
            return check(isinstance(value, bytes), value)
        case T.DecimalType():
            return check(isinstance(value, Decimal), value)
        case T.TimestampType():
            moment = check(isinstance(value, datetime), value)
            return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // MICROSECOND
        case T.DayTimeIntervalType():
            return check(isinstance(value, timedelta), value) // MICROSECOND
        case T.DateType():
            return check(isinstance(value, date) and not isinstance(value, datetime), value).toordinal() - 719_163
        case T.ArrayType():
            items = check(isinstance(value, list | tuple), value)
            return [taken_form(item, type_.elementType, type_.containsNull) for item in items]
        case T.MapType():
            pairs, of = check(isinstance(value, Mapping), value).items(), type_.valueType
            return {taken_form(k, type_.keyType): taken_form(v, of, type_.valueContainsNull) for k, v in pairs}
        case T.StructType():
            return taken_struct(value, type_)
        case _:
            return check(False, None)


MICROSECOND = timedelta(microseconds=1)


def taken_struct(value: Any, type_: T.StructType) -> dict[str, Any]:
    """A record from a tuple, a mapping or any object with its fields as attributes."""
    names = type_.fieldNames()
    parts: list[Any]
    if isinstance(value, tuple):
        parts = [*value]
        if len(parts) != len(names):
            raise ValueError(f"expected {len(names)} fields, found {len(parts)}")
    else:
        held = isinstance(value, Mapping)
        missing = [name for name in names if not (name in value if held else hasattr(value, name))]
        if missing:
            raise ValueError(f"expected the field {missing[0]}, found {type(value).__name__}")
        parts = [value[name] if held else getattr(value, name) for name in names]
    return {p.name: taken_form(each, p.dataType, p.nullable) for p, each in zip(type_.fields, parts, strict=True)}


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
    taken = rows.selectExpr(*map(quoted, keep), named(plain_columns(step.input), "@record"))
    hiding = [taken.schema[name] for name in keep]
    given = columns_of(step.input)
    columns = [T.StructField(part.name, plain_type(part.dataType)) for part in columns_of(element).fields]
    schema = T.StructType(
        [*hiding, T.StructField("@record", plain_type(given)), *columns, T.StructField("@failure", T.StringType())]
    )
    call = batch_caller(python_folder(job), module, function, given, element, len(keep), schema, nullable)
    called = taken.mapInArrow(call, schema)
    record = "`@record`" if has_columns(step.input) else "`@record`.`value`"
    called = parted(job, called, "`@failure`", lambda failed: letters(job, failed, step, record), step.input)
    results = [named(unplain(quoted(p.name), p.dataType), p.name) for p in columns_of(element).fields]
    return called.selectExpr(*map(quoted, keep), *results)


def batch_caller(
    folder: str,
    module: str,
    function: str,
    given: T.StructType,
    element: T.DataType,
    hiding: int,
    schema: T.StructType,
    nullable: bool,
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that Spark's Python workers run on batches of records."""

    def run_batches(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_schema

        arrow = to_arrow_schema(schema)
        called = user_function(folder, module, function)
        for batch in batches:
            records = batch.columns[hiding]
            parts = zip(records.flatten(), given.fields, strict=True)
            arrays = [array.cast(arrow_form(part.dataType)) for array, part in parts]
            table = pyarrow.table(arrays, names=given.fieldNames())
            results = batch_results(called, table, element, nullable)
            width = len(columns_of(element).fields)
            columns = [[row[index] for row, _ in results] for index in range(width)]
            columns.append([error for _, error in results])
            made = zip(columns, arrow.types[hiding + 1 :], strict=True)
            fresh = [pyarrow.array(values, type=type_) for values, type_ in made]
            kept = [*batch.columns[:hiding], records]
            old = [array.cast(type_) for array, type_ in zip(kept, arrow.types, strict=False)]
            yield pyarrow.record_batch([*old, *fresh], schema=arrow)

    return run_batches


def batch_results(
    called: Callable[[Any], Any], table: Any, element: T.DataType, nullable: bool
) -> list[tuple[list[Any], str | None]]:
    """For each record the columns of its result, or why there is none."""
    try:
        found = batch_records(called(table), element, table.num_rows)
        return [(columns_taken(each, element, nullable), None) for each in found]
    except Exception:  # whatever it is, the replay says which record it is about
        return [one_result(called, table.slice(index, 1), element, nullable) for index in range(table.num_rows)]


def one_result(
    called: Callable[[Any], Any], table: Any, element: T.DataType, nullable: bool
) -> tuple[list[Any], str | None]:
    """The columns of the result for a table of one record, or why there is none."""
    nothing = [None] * len(columns_of(element).fields)
    try:
        result = called(table)
    except Exception as error:  # whatever a user's function raises is about this record only
        return nothing, f"python: {type(error).__name__}: {error}"[:4000]
    try:
        return columns_taken(batch_records(result, element, 1)[0], element, nullable), None
    except Exception as error:  # a result of any kind may refuse to be looked at
        return nothing, f"wrong_result: {error}"[:4000]


def columns_taken(result: Any, element: T.DataType, nullable: bool) -> list[Any]:
    """The columns of one result; ValueError where it is of another type."""
    value = taken_form(result, element, nullable)
    return list(value.values()) if has_columns(element) else [value]


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
