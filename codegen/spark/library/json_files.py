"""JSON lines: SQL that reads each as a record or says why it is none."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from ghcm.codegen.spark.library.files import NOT_UTF8, accepted, find_files, in_files, numbered, read_lines
from ghcm.codegen.spark.library.job import Job, Step
from ghcm.codegen.spark.library.sql import (
    EXACT_NUMBER,
    bound,
    decimal_parts,
    fails,
    is_member,
    matching,
    named,
    quoted,
    text,
    variable,
    when,
)
from ghcm.codegen.spark.library.types import EnumType, columns_of, ddl
from ghcm.codegen.spark.library.values import words


def read_json(
    job: Job,
    step: Step,
    pattern: str,
    keep: Sequence[str] = (),
    *,
    compression: str = "ending",
    clock: str = "restarts",
) -> DataFrame:
    """The records of JSON-lines files; what does not fit is a dead letter."""
    return decode_json(
        job, step, find_files(job, step, pattern, compression), keep, compression=compression, clock=clock
    )


def decode_json(
    job: Job,
    step: Step,
    names: Sequence[str],
    keep: Sequence[str] = (),
    *,
    compression: str = "ending",
    clock: str = "restarts",
    ours: bool = False,
) -> DataFrame:
    """The records of these JSON-lines files; `ours`: written by a sink."""
    lines = read_lines(job, names, compression)
    if "@order" in keep:
        lines = in_files(numbered(job, lines, names, compression), step, names, clock, keep)
    lines = lines.where(f"NOT {matching('`@text`', BLANK)}").selectExpr("*", document())
    columns, error = json_columns(step.input, ours)
    lines = accepted(job, step, lines, f"coalesce({NOT_UTF8}, {error})", names, compression)
    return lines.selectExpr(*map(quoted, keep), *columns)


BLANK = r"\A[ \t\r]*\z"


def with_signs(value: str) -> str:
    """JSON text in which -0.0 has an exponent: Spark reads a number without one as a decimal, whose zero has no sign.

    Escapes of quotes and backslashes are spelt otherwise first, so that every second part between quotes is a string.
    """
    escaped = value
    for char in ("\\", '"'):
        escaped = f"replace({escaped}, {text(chr(92) + char)}, {text(f'{chr(92)}u{ord(char):04x}')})"
    each, index = variable(), variable()
    zero, spelt = r"(^|[:,\[\s])-0([.]0+)(?=[,\]}\s]|$)", "$1-0$2e0"
    outside = f"regexp_replace({each}, {text(zero)}, {text(spelt)})"
    parts = f"""transform(split({escaped}, '"', -1), ({each}, {index}) -> if({index} % 2 = 0, {outside}, {each}))"""
    return f"""if(contains({value}, '-0.0'), array_join({parts}, '"'), {value})"""


def document() -> str:
    """What stands on a line, behind it a mark that shows that nothing followed."""
    return f"try_parse_json(concat('[', {with_signs('`@text`')}, ',', xxhash64(`@text`), ']')) AS `@json`"


def json_columns(element: DataType, ours: bool) -> tuple[list[str], str]:
    """The columns of the records in `@json`, and why one is none."""
    alone = "try_variant_get(`@json`, '$[1]', 'bigint') <=> xxhash64(`@text`)"
    is_object = "coalesce(startswith(schema_of_variant(try_variant_get(`@json`, '$[0]', 'variant')), 'OBJECT'), false)"
    columns, values = list[str](), list[str]()
    errors = [fails(f"NOT ({alone} AND {is_object})", "bad_record", "no JSON object")]
    for part in columns_of(element).fields:
        value, error = decoded(json_part("`@json`", "$[0]", part), part.dataType, part.nullable, part.name, ours)
        values.append(value)
        value, error = of_its_record(value, error, part, values[0])
        columns.append(named(f"cast({value} AS {ddl(part.dataType)})", part.name))
        errors.append(error)
    return columns, f"coalesce({', '.join([*errors, *lacking(values, columns_of(element))])})"


def of_its_record(value: str, error: str, part: StructField, tag: str) -> tuple[str, str]:
    """A field and why it is none; null where it is of another record of a union than the one that the tag names."""
    tags = part.metadata.get("of")
    if tags is None:
        return value, error
    own = is_member(f"({tag})", tags)
    return when(own, value), when(own, error)


def lacking(values: Sequence[str], type_: StructType) -> list[str]:
    """Why a union is none: a field is null that the record has which its tag names."""
    return [
        fails(
            f"({values[0]}) = {text(tag)} AND ({value}) IS NULL",
            "bad_record",
            f'field "{part.name}" of "{record}" is missing',
        )
        for part, value in zip(type_.fields, values, strict=True)
        for tag, record in part.metadata.get("needs", {}).items()
    ]


def json_part(document: str, root: str, part: StructField) -> str:
    """A field of an object: by its whole path as a name, else step by step."""
    path = part.metadata.get("path", part.name)
    flat = variant_part(document, root + json_name(path))
    if "." not in path:
        return flat
    return f"coalesce({flat}, {variant_part(document, root + ''.join(map(json_name, path.split('.'))))})"


def variant_part(document: str, path: str) -> str:
    """What stands at a path; null where there is nothing."""
    return f"try_variant_get({document}, {text(path)}, 'variant')"


def json_name(name: str) -> str:
    """A name as a step of a path of Spark's variants."""
    return f"['{name}']" if '"' in name else f'["{name}"]'


def decoded(value: str, type_: DataType, nullable: bool, name: str, ours: bool) -> tuple[str, str]:
    """The value of a type that a JSON value holds, and why it holds none."""
    kind = f"schema_of_variant({value})"
    missing = f"coalesce({kind} = 'VOID', true)"
    result, fits = decoded_kind(value, kind, type_, ours)
    start = text(f'bad_record: field "{name}": expected {words(type_)}, found ')
    wrong = f"concat({start}, substring(to_json({value}), 1, 60))"
    error = when(f"NOT {missing} AND NOT coalesce({fits}, false)", wrong)
    if not nullable:
        absent = when(missing, f"concat({start}, CASE WHEN {kind} = 'VOID' THEN 'null' ELSE 'nothing' END)")
        error = f"coalesce({absent}, {error})"
    return when(missing, "NULL", result), error


def decoded_kind(value: str, kind: str, type_: DataType, ours: bool) -> tuple[str, str]:
    """The value where a JSON value is of the right kind, and whether it is."""

    def got(as_type: str) -> str:
        return f"try_variant_get({value}, '$', '{as_type}')"

    held = when(f"{kind} = 'STRING'", got("string"))
    is_number = f"({kind} = 'BIGINT' OR {kind} = 'DOUBLE' OR startswith({kind}, 'DECIMAL'))"
    match type_:
        case BooleanType():
            return got("boolean"), f"{kind} = 'BOOLEAN'"
        case LongType():
            return got("bigint"), f"{kind} = 'BIGINT'"
        case IntegerType():
            fits = f"{kind} = 'BIGINT' AND {got('bigint')} BETWEEN {-(2**31)} AND {2**31 - 1}"
            return f"try_cast({got('bigint')} AS int)", fits
        case DoubleType():
            special = f"({held}) IN ('NaN', 'Infinity', '-Infinity')" if ours else "false"
            return when(is_number, got("double"), f"try_cast({held} AS double)"), f"({is_number} OR {special})"
        case EnumType(values=values):
            return held, is_member(f"({held})", values)
        case StringType():
            return held, f"{kind} = 'STRING'"
        case TimestampType():
            moment = when(is_number, rounded_micros(got("double")), iso_micros(f"({held})"))
            return f"timestamp_micros({moment})", f"({moment}) IS NOT NULL"
        case DateType():
            return iso_date(f"({held})"), f"({iso_date(f'({held})')}) IS NOT NULL"
        case DayTimeIntervalType():
            digits = when(matching(f"({held})", r"\A-?[0-9]{1,15}[.][0-9]{6}\z"), f"bigint(replace({held}, '.', ''))")
            length = when(is_number, rounded_micros(got("double")), digits if ours else "NULL")
            return length, f"({length}) IS NOT NULL"
        case DecimalType():
            number = when(f"{kind} = 'BIGINT' OR startswith({kind}, 'DECIMAL')", f"to_json({value})")
            zero = when(f"{kind} = 'DOUBLE' AND {got('double')} = 0", "'0'")
            return exact_decimal(f"coalesce({held}, {number}, {zero})", type_)
        case BinaryType():
            return f"try_to_binary({held}, 'base64')", f"try_to_binary({held}, 'base64') IS NOT NULL"
        case ArrayType():
            return decoded_list(got("array<variant>"), kind, type_, ours)
        case MapType():
            return decoded_map(value, kind, type_, ours)
        case StructType():
            return decoded_struct(value, kind, type_, ours)
        case _:
            return "NULL", "false"


def exact_decimal(held: str, type_: DecimalType) -> tuple[str, str]:
    """The decimal number in a text, and whether the type holds all its digits."""
    exact, lost, wide = decimal_parts(held, type_.precision, type_.scale)
    return exact, f"({matching(held, EXACT_NUMBER)} AND NOT {lost} AND NOT {wide})"


def decoded_struct(value: str, kind: str, type_: StructType, ours: bool) -> tuple[str, str]:
    """A record, and whether all its fields fit. A union and its tag are looked at so often that they get names."""
    is_union = any({"of", "needs"} & set(part.metadata) for part in type_.fields)
    whole, tag = (variable(), variable()) if is_union else (value, "")
    parts, values, errors = list[str](), list[str](), list[str]()
    for part in type_.fields:
        held, error = decoded(json_part(whole, "$", part), part.dataType, part.nullable, part.name, ours)
        values.append(held)
        held, error = of_its_record(held, error, part, tag)
        parts.append(f"{text(part.name)}, cast({held} AS {ddl(part.dataType)})")
        errors.append(error)
    errors += lacking([tag, *values[1:]], type_) if is_union else []
    struct = f"named_struct({', '.join(parts)})"
    fits = f"coalesce({', '.join(['string(NULL)', *errors])}) IS NULL"
    if is_union:
        struct, fits = (bound(value, whole, bound(values[0], tag, each)) for each in (struct, fits))
    return struct, f"startswith({kind}, 'OBJECT') AND {fits}"


def decoded_list(items: str, kind: str, type_: ArrayType, ours: bool) -> tuple[str, str]:
    """A list, and whether all its items fit."""
    each = variable()
    value, error = decoded(each, type_.elementType, type_.containsNull, "item", ours)
    values = f"transform({items}, {each} -> cast({value} AS {ddl(type_.elementType)}))"
    return values, f"startswith({kind}, 'ARRAY') AND NOT exists({items}, {each} -> {error} IS NOT NULL)"


def decoded_map(value: str, kind: str, type_: MapType, ours: bool) -> tuple[str, str]:
    """A map from an object, or from an array of [key, value]."""
    one, pair = variable(), variable()
    listed = f"try_variant_get({value}, '$', 'array<array<variant>>')"
    pairs = f"transform({listed}, {one} -> named_struct('key', get({one}, 0), 'value', get({one}, 1)))"
    right = f"(startswith({kind}, 'ARRAY') AND NOT exists({listed}, {one} -> coalesce(array_size({one}) != 2, true)))"
    if isinstance(type_.keyType, StringType):
        is_object = f"startswith({kind}, 'OBJECT')"
        entries = f"map_entries(try_variant_get({value}, '$', 'map<string,variant>'))"
        name = f"try_variant_get(to_variant_object(named_struct('name', {one}.key)), '$.name', 'variant')"
        entry = f"named_struct('key', {name}, 'value', {one}.value)"
        pairs = f"({when(is_object, f'transform({entries}, {one} -> {entry})', pairs)})"
        right = f"(startswith({kind}, 'OBJECT') OR {right})"
    key, wrong_key = decoded(f"{pair}.key", type_.keyType, False, "key", ours)
    held, wrong = decoded(f"{pair}.value", type_.valueType, type_.valueContainsNull, "value", ours)
    entry = f"named_struct('key', cast({key} AS {ddl(type_.keyType)}), 'value', cast({held} AS {ddl(type_.valueType)}))"
    fits = f"({right} AND NOT exists({pairs}, {pair} -> coalesce({wrong_key}, {wrong}) IS NOT NULL))"
    return when(fits, f"map_from_entries(transform({pairs}, {pair} -> {entry}))"), fits


def rounded_micros(seconds: str) -> str:
    """Seconds as microseconds, rounded half to even from the exact number; null where 64 bits do not hold them."""
    whole = (
        f"try_cast({seconds} AS bigint)"  # towards zero: nothing is lost of the rest, and its product stays in range
    )
    rest = f"({seconds} - double({whole}))"
    scaled = f"({rest} * 1000000.0D)"
    high = f"({rest} * 134217729.0D - ({rest} * 134217729.0D - {rest}))"
    lost = f"(({high} * 1000000.0D - {scaled}) + ({rest} - {high}) * 1000000.0D)"  # by rounding `scaled`
    tie = f"{scaled} - floor({scaled}) = 0.5D"
    rounded = (
        f"CASE WHEN {tie} AND {lost} > 0 THEN floor({scaled}) + 1 WHEN {tie} AND {lost} < 0 THEN floor({scaled})"
        f" ELSE bigint(rint({scaled})) END"
    )
    return when(f"abs({seconds}) < 1e13D", f"try_add(try_multiply({whole}, 1000000L), {rounded})")


MOMENT_FORM = (
    r"\A(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?)?\z"
)


def iso_micros(value: str) -> str:
    """A moment in ISO 8601 as microseconds; without an offset it is UTC; null where it is none."""

    def found(group: int) -> str:
        return f"regexp_extract({value}, {text(MOMENT_FORM)}, {group})"

    def number(group: int) -> str:
        return f"coalesce(try_cast(nullif({found(group)}, '') AS bigint), 0L)"

    hours, minutes, seconds = number(2), number(3), number(4)
    day = f"bigint(unix_date(try_cast({found(1)} AS date)))"
    total = f"((({day} * 24 + {hours}) * 60 + {minutes}) * 60 + {seconds})"
    decimals = f"bigint(rpad(left({found(5)}, 6), 6, '0'))"
    sign = when(f"{found(6)} = '-'", "-1", "1")
    shift = f"(({number(7)} * 60 + {number(8)}) * 60 * {sign})"
    exists = f"{hours} < 24 AND {minutes} < 60 AND {seconds} < 60 AND NOT startswith({found(1)}, '0000')"
    return when(f"{matching(value, MOMENT_FORM)} AND {exists}", f"({total} - {shift}) * 1000000 + {decimals}")


def iso_date(value: str) -> str:
    """A day as 2026-01-02; null where it is none."""
    return when(matching(value, r"\A([+-][0-9]{1,9}|\d{4})-\d\d-\d\d\z"), f"try_cast({value} AS date)")
