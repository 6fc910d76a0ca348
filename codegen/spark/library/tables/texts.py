"""Rows as lines of JSON and cells of CSV: by SQL where Spark writes them as we do, else by Python."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ghcm.codegen.spark.library.sql import (
    MOMENT,
    decimal_text,
    is_member,
    moment_sql,
    named,
    part,
    quoted,
    text,
    variable,
)
from ghcm.codegen.spark.library.types import (
    columns_of,
    from_arrow,
    inside,
    plain_columns,
    record_type,
    type_of,
    whole_record,
)
from ghcm.types import Duration, Float, Struct, parts
from ghcm.values import cell_writer, compact, own_writer


def as_texts(rows: DataFrame, element: T.DataType, format: str) -> DataFrame:
    """The lines of rows in a JSON file, or their cells in a CSV file."""
    type_ = columns_of(element)
    if any(isinstance(each, Float | Duration) for each in parts(record_type(element))):
        return in_python(rows, element, format)  # Java writes other digits, and more of them
    if format == "csv":
        return rows.selectExpr(*(named(csv_text(quoted(each.name), each.dataType), each.name) for each in type_.fields))
    return rows.selectExpr(named(json_line(element), "value"))


def json_line(element: T.DataType) -> str:
    """A row as a line of JSON, where Spark writes all of it as we do."""
    type_ = columns_of(element)
    value = whole_record(type_)
    return own_json(value, type_) if has_cases(type_) else json_sql(json_form(value, type_))


def in_python(rows: DataFrame, element: T.DataType, format: str) -> DataFrame:
    """The lines of rows in a JSON file, or their cells in a CSV file, as Python writes them."""
    record = record_type(element)
    row_of, to_json, cells = from_arrow(record), own_writer(record), [cell_writer(part.type) for part in record.fields]
    names = ["value"] if format == "json" else list(record.names)

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            taken = [row_of(row) for row in batch.column(0).to_pylist(maps_as_pydicts="strict")]
            if format == "json":
                texts: list[list[str | None]] = [[compact(to_json(row)) for row in taken]]
            else:
                texts = [[text(row[index]) for row in taken] for index, text in enumerate(cells)]
            yield pyarrow.record_batch([pyarrow.array(each, pyarrow.string()) for each in texts], names=names)

    schema = T.StructType([T.StructField(name, T.StringType()) for name in names])
    return rows.selectExpr(named(plain_columns(element), "@row")).mapInArrow(write, schema)


def json_sql(value: str) -> str:
    """A list, map or struct as JSON text, with all fields."""
    return f"to_json({value}, map('ignoreNullFields', 'false', 'timestampFormat', {text(MOMENT)}))"


def json_value(value: str, type_: T.DataType) -> str:
    """The JSON text of any value, null too."""
    whole, each = json_sql(f"named_struct('v', {json_form(value, type_)})"), variable()
    return f"transform(array({whole}), {each} -> substring({each}, 6, length({each}) - 6))[0]"


def json_form(value: str, type_: T.DataType) -> str:
    """A value in a form whose JSON is the one of its type."""
    match type_:
        case T.DecimalType():
            return decimal_text(value, type_.scale)
        case T.MapType() if not isinstance(type_.keyType, T.StringType):
            each = variable()
            key, held = json_form(f"{each}.key", type_.keyType), json_form(f"{each}.value", type_.valueType)
            pair = f"array(to_variant_object(array({key}))[0], to_variant_object(array({held}))[0])"
            return f"transform(map_entries({value}), {each} -> {pair})"
        case T.ArrayType() | T.MapType() | T.StructType():
            return inside(value, type_, json_form)
        case _:
            return value


def has_cases(type_: T.DataType) -> bool:
    """Whether a union whose records have different fields is in a type."""
    return any(isinstance(each, Struct) and each.cases for each in parts(type_of(type_)))


def own_json(value: str, type_: T.DataType) -> str:
    """The JSON text of a value in which unions have only the fields of the records that they are."""
    each = variable()
    match type_:
        case T.ArrayType() if has_cases(type_):
            held = (
                f"concat('[', array_join(transform({value}, {each} -> {own_json(each, type_.elementType)}), ','), ']')"
            )
        case T.MapType() if has_cases(type_):
            named_ = isinstance(type_.keyType, T.StringType)
            key, inner = own_json(f"{each}.key", type_.keyType), own_json(f"{each}.value", type_.valueType)
            pair = f"concat({key}, ':', {inner})" if named_ else f"concat('[', {key}, ',', {inner}, ']')"
            pairs = f"array_join(transform(map_entries({value}), {each} -> {pair}), ',')"
            held = f"concat({text('{' if named_ else '[')}, {pairs}, {text('}' if named_ else ']')})"
        case T.StructType() if has_cases(type_):
            fields = ", ".join(own_field(value, part, type_) for part in type_.fields)
            held = f"concat({text('{')}, concat_ws(',', {fields}), {text('}')})"
        case _:
            return json_value(value, type_)
    return f"if({value} IS NULL, 'null', {held})"


def own_field(value: str, field: T.StructField, type_: T.StructType) -> str:
    """A field with its name in a JSON object, null where a union has it not."""
    found = f"concat({text(compact(field.name) + ':')}, {own_json(part(value, field.name), field.dataType)})"
    tags = field.metadata.get("of")
    return found if tags is None else f"if({is_member(part(value, type_.fields[0].name), tags)}, {found}, NULL)"


def csv_text(value: str, type_: T.DataType) -> str:
    """A value as the text of a field of CSV."""
    match type_:
        case T.TimestampType():
            return moment_sql(value)
        case T.DecimalType():
            return f"string({json_form(value, type_)})"
        case T.BinaryType():
            return f"base64({value})"
        case T.ArrayType() | T.MapType() | T.StructType():
            return json_sql(json_form(value, type_))
        case _:
            return f"string({value})"
