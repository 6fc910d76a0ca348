"""Which lines of JSON are plainly records, so that Spark's own parser reads them as the exact reader would.

A pattern over the letters of a line says so: it is one object, whose strings have no odd escapes and are UTF-8, and
under each key that the record names stands a token of its type. Spark then cannot take a number for a text, cut a
decimal, or overlook what stands behind the object; whether the whole is JSON, its parser finds. What the pattern
refuses may be a record all the same: `ghcm.formats` decides.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from pyspark.sql import types as T

from ghcm.codegen.spark.library.sql import is_member, matching, part, text, variable, when
from ghcm.codegen.spark.library.types import EnumType, columns_of, ddl

OPTIONS = "map('allowNonNumericNumbers', 'false', 'allowSingleQuotes', 'false', 'columnNameOfCorruptRecord', '@no')"
"""What Spark's parser takes for JSON: no more than is said there."""

WS = r"[ \t]*"
_ODD = "".join(rf"\x{number:02x}" for number in range(32))
"""Control characters, one by one: Java looks these up in a table, but asks of a range for each letter."""
STRING = rf'"[^"\\{_ODD}]*+(?:\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{{4}})[^"\\{_ODD}]*+)*+"'
BARE_STRING = rf'"[^"\\{_ODD}]*+"'
"""Without escapes."""
KEY = rf'"[^"\\{_ODD}]*+"'
"""Without escapes: with them it may be a key that the record names."""
_INT = "-?+(?:0|[1-9][0-9]{0,17}+)"
_INT32 = "-?+(?:0|[1-9][0-9]{0,8}+)"
_FLOAT = rf"{_INT}(?:\.[0-9]+)?+(?:[eE][+-]?+[0-9]{{1,2}}+)?+"
BASE64 = "(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?+"
DAY = "[12][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]"
CLOCK = r"[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6}+)?+(?:Z|[+-][01][0-9]:[0-5][0-9])?+"
_NEXT = rf"{WS},?+{WS}"
"""What stands behind a member of an object; where a comma is missing, or one too many, Spark's parser finds no JSON."""
_DEEPEST = 3
"""So many brackets within each other a value may have that the record does not name."""
_LONGEST = "1.9e15"
"""Microseconds up to which a product of seconds with a million is off by an eighth of one at most."""


@dataclass(frozen=True, slots=True)
class Form:
    """A type in plain lines: the pattern of its JSON, the type that Spark parses, the value of what was parsed, and
    whether this is in doubt after all (of what was parsed and the value; empty: never).
    """

    pattern: str
    parsed: T.DataType
    value: Callable[[str], str]
    doubt: Callable[[str, str], str]


class Unsuited(Exception):
    """Records of a type cannot be told by a pattern."""


def plain_form(element: T.DataType, *, own: bool = False) -> Form | None:
    """The form of the records in lines of JSON, whose value is a struct of their columns; None where only the exact
    reader can tell. `own`: a sink has written them, under the names of the columns.
    """
    try:
        form = _record(columns_of(element), own=own, whole=True)
    except Unsuited:
        return None
    return replace(form, pattern=rf"\A[ \t\r]*+(?:{form.pattern})[ \t\r]*+\z")


def plainly(value: str, pattern: str) -> str:
    """Whether a text is UTF-8 and fits the pattern."""
    return f"is_valid_utf8({value}) AND {matching(value, pattern)}"


def parsed_by_spark(value: str, form: Form) -> str:
    """What Spark's parser finds in a text; its field `@no` is not null where that is no JSON."""
    assert isinstance(form.parsed, T.StructType)
    whole = T.StructType([*form.parsed.fields, T.StructField("@no", T.StringType())])
    return f"from_json({value}, {text(ddl(whole))}, {OPTIONS})"


def same(value: str) -> str:
    """What was parsed is the value."""
    return value


def never(_parsed: str, _value: str) -> str:
    """Nothing is in doubt that fits the pattern."""
    return ""


def failed(_parsed: str, value: str) -> str:
    """In doubt is what gives no value."""
    return f"{value} IS NULL"


def plain_value(type_: T.DataType, *, own: bool) -> Form:
    """The form of values of a type. Unsuited where there is none."""
    match type_:
        case T.BooleanType():
            return Form("true|false", type_, same, never)
        case T.LongType():
            return Form(_INT, type_, same, never)
        case T.IntegerType():
            return Form(_INT32, type_, same, never)
        case T.DoubleType():
            return Form(_FLOAT, type_, same, never)
        case EnumType(values=values):
            return Form(STRING, T.StringType(), same, lambda parsed, _: f"NOT {is_member(parsed, values)}")
        case T.StringType():
            return Form(STRING, type_, same, never)
        case T.BinaryType():
            return Form(f'"{BASE64}"', type_, same, never)
        case T.NullType():
            return Form("null", T.StringType(), lambda _: "NULL", never)
        case T.DateType():
            return Form(f'"{DAY}"', T.StringType(), lambda parsed: f"CAST({parsed} AS date)", failed)
        case T.TimestampType():
            return Form(f'"{DAY}(?:[T ]{CLOCK})?+"|{_FLOAT}', T.StringType(), moment_of, failed)
        case T.DayTimeIntervalType():
            return Form(_FLOAT, T.DoubleType(), micros_of, failed)
        case T.DecimalType(precision=precision, scale=scale):
            whole = f"(?:0|[1-9][0-9]{{0,{precision - scale - 1}}}+)" if precision > scale else "0"
            digits = f"-?+{whole}" + (rf"(?:\.[0-9]{{1,{scale}}}+)?+" if scale else "")
            return Form(f'{digits}|"{digits}"', type_, same, never)
        case T.ArrayType():
            return _list(type_, own=own)
        case T.MapType():
            return _map(type_, own=own)
        case T.StructType():
            return _record(type_, own=own)
        case _:
            raise Unsuited


def moment_of(parsed: str) -> str:
    """The timestamp of a text that has the form of one, or of a number of seconds; null where that is in doubt."""
    seconds = f"timestamp_micros({micros_of(f'CAST({parsed} AS double)')})"
    return when(f"substring({parsed}, 5, 1) = '-'", f"CAST({parsed} AS timestamp)", seconds)


def micros_of(seconds: str) -> str:
    """The microseconds of seconds; null near a half, where the product's own rounding might decide."""
    near = f"({seconds} * 1e6D)"
    sure = f"abs({near}) < {_LONGEST}D AND abs({near} - rint({near})) <= 0.37D"
    return when(sure, f"CAST(rint({near}) AS bigint)")


def _list(type_: T.ArrayType, *, own: bool) -> Form:
    item, each = plain_value(type_.elementType, own=own), variable()
    pattern = _or_null(item.pattern, nullable=type_.containsNull)
    converts, doubt = item.value(each) != each, item.doubt(each, item.value(each))
    return Form(
        rf"\[{WS}(?:(?:{pattern}){WS}(?:,{WS}|(?=\])))*+\]",
        T.ArrayType(item.parsed),
        (lambda parsed: f"transform({parsed}, {each} -> {item.value(each)})") if converts else same,
        lambda parsed, _: f"exists({parsed}, {each} -> {each} IS NOT NULL AND ({doubt}))" if doubt else "",
    )


def _map(type_: T.MapType, *, own: bool) -> Form:
    """Of names to values; keys of other types stand in lists of pairs, which Spark does not parse as a map."""
    if not isinstance(type_.keyType, T.StringType):
        raise Unsuited
    key, held, each = plain_value(type_.keyType, own=own), plain_value(type_.valueType, own=own), variable()
    pattern = _or_null(held.pattern, nullable=type_.valueContainsNull)
    value, in_key = held.value(each), key.doubt(each, each)
    in_value = held.doubt(each, value)

    def doubt(parsed: str, _: str) -> str:
        keys = f"map_keys({parsed})"
        found = [f"size(array_distinct({keys})) < size({keys})"]
        found += [f"exists({keys}, {each} -> {in_key})"] if in_key else []
        found += [f"exists(map_values({parsed}), {each} -> {each} IS NOT NULL AND ({in_value}))"] if in_value else []
        return " OR ".join(found)

    return Form(
        rf"\{{{WS}(?:{STRING}{WS}:{WS}(?:{pattern}){WS}(?:,{WS}|(?=\}})))*+\}}",
        T.MapType(T.StringType(), held.parsed),
        (lambda parsed: f"transform_values({parsed}, (k{each}, {each}) -> {value})") if value != each else same,
        doubt,
    )


def _or_null(pattern: str, *, nullable: bool) -> str:
    return f"{pattern}|null" if nullable else pattern


# --- records ---------------------------------------------------------------------------------------------------------


class _Found(NamedTuple):
    """A field of a record: its form, and where Spark has parsed it, under its whole path and in nested objects."""

    field: T.StructField
    form: Form
    paths: Sequence[Sequence[str]]

    def parsed(self, of: str) -> str:
        """What was parsed."""
        found: list[str] = []
        for path in self.paths:
            place = of
            for name in path:
                place = part(place, name)
            found.append(place)
        return f"coalesce({', '.join(found)})" if len(found) > 1 else found[0]


Keys: TypeAlias = "dict[str, Form | Keys]"
"""What may stand in an object under which key; an object within it where fields have paths of several names."""


def _record(struct: T.StructType, *, own: bool, whole: bool = False) -> Form:
    """Of an object, that of a `whole` line or one within it. A field of a union that the record of its tag has not is
    null, whatever the object holds.
    """
    keys: Keys = {}
    fields = [_field(each, keys, own=own) for each in struct.fields]
    tag = fields[0] if fields else None

    def has(field: T.StructField, of: str) -> str:
        tags = field.metadata.get("of")
        return "" if tags is None or tag is None else is_member(tag.parsed(of), tags)

    def value_in(found: _Found, of: str) -> str:
        value, own_ = found.form.value(found.parsed(of)), has(found.field, of)
        return when(own_, value) if own_ else value

    def value(parsed: str) -> str:
        parts = ", ".join(f"{text(each.field.name)}, {value_in(each, parsed)}" for each in fields)
        return when(f"{parsed} IS NOT NULL", f"named_struct({parts})")

    def doubt(parsed: str, value: str) -> str:
        found = (
            _doubt(each, each.parsed(parsed), part(value, each.field.name), has(each.field, parsed)) for each in fields
        )
        needs = (
            f"({tag.parsed(parsed)} = {text(name)} AND {part(value, each.field.name)} IS NULL)"
            for each in fields
            for name in each.field.metadata.get("needs", {})
            if tag is not None
        )
        return " OR ".join(filter(None, (*found, *needs)))

    pattern = f"{_in_order(keys)}|{_object(keys)}" if whole else _object(keys)
    return Form(pattern, _parsed_type(keys), value, doubt)


def _doubt(found: _Found, parsed: str, value: str, has: str) -> str:
    """Whether a field is in doubt, or missing where it may not be."""
    inside = found.form.doubt(parsed, value)
    if found.field.nullable or isinstance(found.field.dataType, T.NullType):
        doubt = f"({parsed} IS NOT NULL AND ({inside}))" if inside else ""
    else:
        doubt = f"({parsed} IS NULL OR {inside})" if inside else f"{parsed} IS NULL"
    return f"({has} AND {doubt})" if has and doubt else doubt


def _field(field: T.StructField, keys: Keys, *, own: bool) -> _Found:
    """A field, whose pattern is put under the keys where it may stand. A null under a key of several names is in
    doubt: what stands in nested objects would not count.
    """
    form = plain_value(field.dataType, own=own)
    path = field.name if own else field.metadata.get("path") or field.name
    names = path.split(".")
    _put(keys, path, replace(form, pattern=_or_null(form.pattern, nullable=field.nullable and len(names) == 1)))
    if len(names) == 1:
        return _Found(field, form, [names])
    here = keys
    for name in names[:-1]:
        inner = here.setdefault(name, {})
        if isinstance(inner, Form):
            raise Unsuited
        here = inner
    _put(here, names[-1], replace(form, pattern=_or_null(form.pattern, nullable=field.nullable)))
    return _Found(field, form, [[path], names])


def _put(keys: Keys, name: str, form: Form) -> None:
    if name in keys:  # two fields at one place
        raise Unsuited
    keys[name] = form


def _parsed_type(keys: Keys) -> T.StructType:
    fields = [
        T.StructField(name, found.parsed if isinstance(found, Form) else _parsed_type(found))
        for name, found in keys.items()
    ]
    return T.StructType(fields)


def _object(keys: Keys) -> str:
    """The pattern of an object with these keys, and with any others."""
    other = f'(?!"(?:{"|".join(map(literal, keys))})"){KEY}{WS}:{WS}(?:{_ANY})'
    return rf"\{{{WS}(?:(?:{'|'.join([*_members(keys), other])}){_NEXT})*+\}}"


def _in_order(keys: Keys) -> str:
    """The pattern of an object with some of these keys, in their order, and no escapes: most are, and it is found in
    half the time.
    """
    members = (member.replace(STRING, BARE_STRING) for member in _members(keys))
    return rf"\{{{WS}{''.join(f'(?:{member}{_NEXT})?+' for member in members)}\}}"


def _members(keys: Keys) -> list[str]:
    return [
        f'"{literal(name)}"{WS}:{WS}(?:{found.pattern if isinstance(found, Form) else _object(found)})'
        for name, found in keys.items()
    ]


def literal(name: str) -> str:
    """A key as a pattern."""
    if re.search(rf'["\\{_ODD}]', name):  # which JSON writes with an escape
        raise Unsuited
    return re.sub(r"[!-/:-@\[-^`{-~]", lambda found: "\\" + found[0], name)


def _any() -> str:
    inside = rf'[^"\\\[\]{{}}{_ODD}]++|{STRING}'
    found = ""
    for _ in range(_DEEPEST):
        found = rf"[\[{{](?:{inside}{found})*+[\]}}]"
        found = f"|{found}"
    return f"{STRING}|[-+.0-9A-Za-z]++{found}"


_ANY = _any()
