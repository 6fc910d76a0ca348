"""Keys, timestamps and headers of messages, and values as they are, as columns that Spark makes by itself; and headers
of such columns.

Which records fail, and what is said of them, is that of the native engine (`ghcm.runtime.formats.message_parts`).
"""

from collections.abc import Iterable

from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from ghcm.codegen.spark.library.sql import fails, first, named, quoted, text, variable, when

_LOADED = {
    "key": "key",
    "value": "value",
    "timestamp": when("unix_micros(timestamp) >= 0", "unix_micros(timestamp)"),
    "origin": "topic",
    "partition": "bigint(partition)",
    "offset": "offset",
    "deleted": "(value IS NULL)",
}
"""What Spark's connector gives of messages, as Python reads it exactly."""


def part_columns(parts: Iterable[tuple[str, str]], element: StructType) -> tuple[list[str], str | None]:
    """The columns of a record that hold parts of messages (words of `ghcm.formats.messages`, and `value`, each with a
    field), in the form that Python reads exactly; and the error of messages that lack what a field has to hold.
    """
    made = {name: _part(word, element[name]) for word, name in parts}
    return [named(value, name) for name, (value, _) in made.items()], first(*(error for _, error in made.values()))


def _part(word: str, field: StructField) -> tuple[str, str | None]:
    if word == "headers":
        return _headers(field)
    value = _LOADED[word]
    missing = None if field.nullable else _unfit(f"{value} IS NULL", field, f"the message has no {word}")
    if word not in ("key", "value") or not isinstance(field.dataType, StringType):
        return value, missing
    return f"string({value})", first(missing, _no_text(value, field, word))


def _headers(field: StructField) -> tuple[str, str | None]:
    """Headers as a list of records, or as a map that holds the last one of each name."""
    names, of, nullable = _header_of(field.dataType)
    each, error = variable(), variable()
    value = f"{each}.value"
    held = f"string({value})" if isinstance(of, StringType) else value
    pair = f"named_struct({text(names[0])}, {each}.key, {text(names[1])}, {held})"
    pairs = f"transform(coalesce(headers, array()), {each} -> {pair})"
    wrong = first(
        None if nullable else _unfit(f"{value} IS NULL", field, "a header has no value"),
        _no_text(value, field, "headers") if isinstance(of, StringType) else None,
    )
    found = wrong and f"get(filter(transform(headers, {each} -> {wrong}), {error} -> {error} IS NOT NULL), 0)"
    return (f"map_from_entries({pairs})" if isinstance(field.dataType, MapType) else pairs), found


def headers_of(field: StructField) -> str:
    """The headers of messages that a column gives, as Spark's connector takes them."""
    (name, value), *_ = _header_of(field.dataType)
    each, column = variable(), quoted(field.name)
    pairs = f"map_entries({column})" if isinstance(field.dataType, MapType) else column
    pair = f"named_struct('key', {each}.{quoted(name)}, 'value', binary({each}.{quoted(value)}))"
    return f"transform({pairs}, {each} -> {pair})"


def _header_of(type_: DataType) -> tuple[list[str], DataType, bool]:
    """What names and values of headers are called, and what type values have."""
    if isinstance(type_, MapType):
        return ["key", "value"], type_.valueType, type_.valueContainsNull
    assert isinstance(type_, ArrayType) and isinstance(type_.elementType, StructType), "headers are pairs"
    value = type_.elementType.fields[1]
    return type_.elementType.fieldNames(), value.dataType, value.nullable


def _no_text(value: str, field: StructField, word: str) -> str:
    """The error of bytes that are no text."""
    return _unfit(f"NOT is_valid_utf8(string({value}))", field, f"the {word} is not UTF-8")


def _unfit(condition: str, field: StructField, why: str) -> str:
    return fails(condition, "bad_record", f'field "{field.name}": {why}')
