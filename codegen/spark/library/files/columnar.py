"""Columns of Parquet and Arrow files as those of records, in SQL: what each becomes, and which rows are none.

A row is a record as the JSON object of the same content is one. Where that cannot be said of a type in SQL, the exact
reader says it of each row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from typing import Any, NamedTuple

from pyspark.sql import types as T

from ghcm.codegen.spark.library.sql import is_member, named, part, quoted, text, variable, when
from ghcm.codegen.spark.library.types import EnumType, columns_of
from ghcm.values.timestamps import FIRST_DAY, FIRST_MICROS, LAST_DAY, LAST_MICROS


class Converted(NamedTuple):
    """A value in SQL, whether it is in doubt (empty: never), and whether what is in doubt is surely no value."""

    value: str
    doubt: str = ""
    sure: bool = True


class Proven(NamedTuple):
    """Of the columns of files, by their paths: those without nulls, and those whose moments Python has."""

    never_null: frozenset[str] = frozenset()
    bounded: frozenset[str] = frozenset()

    def both(self, other: Proven) -> Proven:
        """What is proven of files of either kind."""
        return Proven(self.never_null & other.never_null, self.bounded & other.bounded)


NOTHING = Proven()


def spark_type(given: Any) -> T.DataType | None:
    """The type as which Spark reads what Arrow calls so; None where it does not."""
    import pyarrow

    of: Any = pyarrow.types
    if of.is_dictionary(given):
        return spark_type(given.value_type)
    for test, type_ in _SCALARS:
        if getattr(of, f"is_{test}")(given):
            return type_
    if of.is_timestamp(given) and given.unit in ("us", "ms"):
        return T.TimestampType() if given.tz else T.TimestampNTZType()
    if of.is_decimal128(given) and 0 <= given.scale <= given.precision:
        return T.DecimalType(given.precision, given.scale)
    if of.is_list(given) or of.is_large_list(given):
        item = spark_type(given.value_type)
        return None if item is None else T.ArrayType(item)
    if of.is_map(given):
        key, item = spark_type(given.key_type), spark_type(given.item_type)
        return None if key is None or item is None else T.MapType(key, item)
    if of.is_struct(given):
        parts = [(each.name, spark_type(each.type)) for each in given]
        if not parts or any(type_ is None for _, type_ in parts):
            return None
        return T.StructType([T.StructField(name, type_) for name, type_ in parts if type_ is not None])
    return None


_SCALARS: tuple[tuple[str, T.DataType], ...] = (
    ("boolean", T.BooleanType()),
    ("int8", T.ByteType()),
    ("int16", T.ShortType()),
    ("int32", T.IntegerType()),
    ("int64", T.LongType()),
    ("uint8", T.ShortType()),
    ("uint16", T.IntegerType()),
    ("uint32", T.LongType()),
    ("float32", T.FloatType()),
    ("float64", T.DoubleType()),
    ("string", T.StringType()),
    ("large_string", T.StringType()),
    ("binary", T.BinaryType()),
    ("large_binary", T.BinaryType()),
    ("date32", T.DateType()),
)
_WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
UNKNOWN = Converted("NULL", "true", sure=False)
"""What only the exact reader can tell."""


def converted(value: str, given: T.DataType, wanted: T.DataType) -> Converted:
    """A value that is not null, of the type as which Spark reads it, as one of the type that a record has."""
    match given, wanted:
        case (T.BooleanType(), T.BooleanType()) | (T.BinaryType(), T.BinaryType()):
            return Converted(value)
        case T.StringType(), EnumType(values=values):
            return Converted(value, f"NOT {is_member(value, values)}")
        case T.StringType(), T.StringType():
            return Converted(value, f"NOT is_valid_utf8({value})")
        case (T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType(), T.LongType()):
            return Converted(value if given == wanted else f"CAST({value} AS bigint)")
        case (T.ByteType() | T.ShortType() | T.IntegerType(), T.IntegerType()):
            return Converted(value if given == wanted else f"CAST({value} AS int)")
        case T.LongType(), T.IntegerType():
            return Converted(f"CAST({value} AS int)", f"NOT {value} BETWEEN {-(2**31)}L AND {2**31 - 1}L")
        case (T.FloatType() | T.DoubleType(), T.DoubleType()):
            return Converted(value if given == wanted else f"CAST({value} AS double)")
        case _, T.DoubleType() if isinstance(given, _WHOLE):
            return Converted(f"CAST({value} AS double)")
        case (T.TimestampType() | T.TimestampNTZType() | T.DateType(), T.TimestampType()):
            moment = value if given == wanted else f"CAST({value} AS timestamp)"
            first, last = (f"timestamp_micros({each}L)" for each in (FIRST_MICROS, LAST_MICROS))
            return Converted(moment, f"NOT {moment} BETWEEN {first} AND {last}")
        case T.DateType(), T.DateType():
            first, last = (f"date_from_unix_date({each})" for each in (FIRST_DAY, LAST_DAY))
            return Converted(value, f"NOT {value} BETWEEN {first} AND {last}")
        case T.DecimalType(), T.DecimalType(precision=precision, scale=scale):
            if given.scale <= scale and given.precision - given.scale <= precision - scale:
                return Converted(value if given == wanted else f"CAST({value} AS decimal({precision},{scale}))")
            cast = f"CAST({value} AS decimal({precision},{scale}))"
            return Converted(cast, f"coalesce({cast} != {value}, true)")
        case T.ArrayType(), T.ArrayType():
            return _list(value, given, wanted)
        case T.MapType(), T.MapType():
            return _map(value, given, wanted)
        case T.StructType(), T.StructType():
            return _struct(value, given, wanted)
        case _:  # few files have such columns for such fields
            return UNKNOWN


def with_null(value: str, found: Converted, *, nullable: bool) -> Converted:
    """A value that may be null in the file, where it may be in the record or not."""
    doubt = found.doubt
    if not nullable:
        return found._replace(doubt=f"({value} IS NULL OR {doubt})" if doubt else f"{value} IS NULL")
    return found._replace(doubt=f"({value} IS NOT NULL AND {doubt})" if doubt else "")


def _list(value: str, given: T.ArrayType, wanted: T.ArrayType) -> Converted:
    each = variable()
    item = converted(each, given.elementType, wanted.elementType)
    doubt = with_null(each, item, nullable=wanted.containsNull).doubt
    made = value if item.value == each else f"transform({value}, {each} -> {_kept(each, item)})"
    # A copy, as Spark takes items before it asks whether they are null: of a list that Parquet's reader holds that
    # fails where all items of a column chunk are.
    return Converted(made, doubt and f"exists(reverse({value}), {each} -> {doubt})", item.sure)


def _kept(value: str, found: Converted) -> str:
    return when(f"{value} IS NOT NULL", found.value)


def _map(value: str, given: T.MapType, wanted: T.MapType) -> Converted:
    if given.keyType != wanted.keyType or not isinstance(given.keyType, T.StringType):
        return UNKNOWN
    each = variable()
    key, held = part(each, "key"), part(each, "value")
    item = converted(held, given.valueType, wanted.valueType)
    found = with_null(held, item, nullable=wanted.valueContainsNull).doubt
    of_key = converted(key, given.keyType, wanted.keyType)
    doubt = " OR ".join(filter(None, (of_key.doubt, found)))
    made = value
    if item.value != held:
        made = f"map_from_entries(transform(map_entries({value}), {each} -> struct({key}, {_kept(held, item)})))"
    more = f"size(array_distinct(map_keys({value}))) < size({value})"
    return Converted(
        made, f"({more} OR exists(map_entries({value}), {each} -> {doubt}))" if doubt else more, sure=False
    )


def _struct(value: str, given: T.StructType, wanted: T.StructType) -> Converted:
    found = [field_of_row(value, each, given) for each in wanted.fields]
    if any("of" in each.metadata for each in wanted.fields):
        return UNKNOWN
    parts = ", ".join(f"{text(each.name)}, {one.value}" for each, one in zip(wanted.fields, found, strict=True))
    doubt = " OR ".join(one.doubt for one in found if one.doubt)
    return Converted(f"named_struct({parts})", doubt and f"({doubt})", all(one.sure for one in found))


def field_of_row(
    of: str, field: T.StructField, given: T.StructType, proven: Proven = NOTHING, *, any_text: bool = False
) -> Converted:
    """A field of a record from the columns of a row, or (`of`) from a struct in it: under its whole path, or else in
    structs. `any_text`: one that is not UTF-8 is a text too.
    """
    path = field.metadata.get("path") or field.name
    place = _place(of, [path], given) or _place(of, path.split("."), given)
    if place is None:
        return Converted("NULL") if field.nullable else Converted("NULL", "true")
    value, type_ = place
    found = converted(value, type_, field.dataType)
    bounded = path in proven.bounded and isinstance(field.dataType, T.TimestampType | T.DateType)
    if bounded or (any_text and found.value == value and is_text(field)):
        found = found._replace(doubt="")
    if isinstance(field.dataType, T.StructType) and found.value != value:
        found = found._replace(value=_kept(value, found))
    return found if path in proven.never_null else with_null(value, found, nullable=field.nullable)


def _place(of: str, names: Sequence[str], given: T.StructType) -> tuple[str, T.DataType] | None:
    type_: T.DataType = given
    for name in names:
        if not isinstance(type_, T.StructType) or name not in type_.names:
            return None
        of, type_ = part(of, name) if of else quoted(name), type_[name].dataType
    return of, type_


def is_text(field: T.StructField) -> bool:
    """Whether a field may be any text."""
    return isinstance(field.dataType, T.StringType) and not isinstance(field.dataType, EnumType)


class Rows(NamedTuple):
    """Rows as records: their columns in SQL, when they are none (empty: never), and whether that can be said of all.
    What is `left` to be checked of the others (empty: nothing), is so later.
    """

    columns: Sequence[str]
    doubt: str
    sure: bool
    left: str


def rows_as_records(element: T.DataType, given: T.StructType, proven: Proven, by_group: Collection[str] = ()) -> Rows:
    """What rows of files are with these columns, of which those that are texts `by_group` are checked later."""
    fields = columns_of(element).fields
    found = [field_of_row("", each, given, proven, any_text=each.name in by_group) for each in fields]
    columns, doubts, tag = list[str](), list[str](), found[0].value
    for field, one in zip(fields, found, strict=True):
        has = "" if "of" not in field.metadata else is_member(tag, field.metadata["of"])
        columns.append(named(when(has, one.value) if has else one.value, field.name))
        doubts += [f"({has} AND {one.doubt})" if has else one.doubt] if one.doubt else []
        doubts += [f"({tag} = {text(name)} AND {one.value} IS NULL)" for name in field.metadata.get("needs", {})]
    texts = (field_of_row("", each, given, proven) for each in fields if each.name in by_group and is_text(each))
    left = [each.doubt for each in texts if each.doubt]
    return Rows(columns, " OR ".join(doubts), all(one.sure for one in found), " OR ".join(left))


def proven_by(metadata: Any) -> Proven:
    """What the footer of a Parquet file says of its columns."""
    never_null, bounded = set[str](), set[str]()
    for index in range(metadata.num_columns):
        chunks = [metadata.row_group(number).column(index) for number in range(metadata.num_row_groups)]
        said = [chunk.statistics for chunk in chunks]
        column = metadata.schema.column(index)
        if column.max_repetition_level:  # items of lists
            continue
        if all(each is not None and each.has_null_count and each.null_count == 0 for each in said):
            never_null.add(column.path)
        if all(each is not None and _is_bounded(each) for each in said):
            bounded.add(column.path)
    return Proven(frozenset(never_null), frozenset(bounded))


def _is_bounded(said: Any) -> bool:
    """Whether Python has all the moments or days between these two."""
    try:
        return said.has_min_max and isinstance(said.min, date) and isinstance(said.max, date)
    except (ValueError, OverflowError):
        return False
