"""Lines of JSON whose records are flat and narrow, cut into the tokens of their fields by the pattern that says they
are plain.

One pass over a line then does what two do that ask a pattern first and Spark's parser next, and whole-stage code
generation goes on, which that parser ends. The first pattern is made for the keys of lines that are read beforehand,
in their order; the second takes any order. Where neither finds a record, `ghcm.formats` decides.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from pyspark.sql import types as T

from ghcm.codegen.spark.library.files.plain_cells import PlainCells
from ghcm.codegen.spark.library.files.plain_json import (
    BARE_STRING,
    KEY,
    STRING,
    WS,
    Form,
    Unsuited,
    literal,
    micros_of,
    plain_value,
)
from ghcm.codegen.spark.library.sql import named, quoted, text, when
from ghcm.codegen.spark.library.types import EnumType, columns_of

_FEW = 0.9
"""So many of the lines that are read beforehand have to be plain."""
_MOST = 100
"""Keys of a pattern: Java's stack is not endless."""
_WIDEST = 15
"""Fields of a record, of which a moment or a duration counts as three: Java only interprets a loop of more than 8,000
bytes, as that of a stage with more of them is, and Spark's parser is faster then.
"""
_SPACE = " ?+"
"""What programs write behind colons and commas, or nothing."""
_NUMBER = r"-?+(?:0|[1-9][0-9]{0,99}+)(?:\.[0-9]{1,99}+)?+(?:[eE][+-]?+[0-9]{1,2}+)?+"
_LITERAL = "true|false|null"
_DEEPEST = 3
"""So many brackets within each other a value may have that the record does not name."""
_LONGEST = 1 << 20
"""Bytes of a line with escapes: of a text of twenty million Spark's parser finds nothing."""
_BARE = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*')
"""Keys that need no escape."""


def json_tokens(element: T.DataType, lines: Sequence[bytes], *, own: bool) -> PlainCells | None:
    """How Spark reads such lines, of which these are some; None where records are not flat, or few of the lines would
    be plain. `own`: a sink has written them.
    """
    try:
        fields = _fields(columns_of(element), own=own)
        patterns = _in_order(fields, lines), _in_any_order(fields)
    except Unsuited:
        return None
    fitting = [re.compile(pattern.text.removesuffix(r"\z") + r"\Z") for pattern in patterns]
    texts = [line.decode("utf-8", "replace") for line in lines]
    if sum(any(each.match(line) for each in fitting) for line in texts) < _FEW * len(texts):
        return None
    columns, doubts = list[str](), ["`@cells` IS NULL"]
    for index, (field, form) in enumerate(fields.values(), 1):
        cell = f"`@cells`[{index}]"
        columns.append(named(_value(field.dataType, form, cell), field.name))
        doubts.append(_doubt(field, form, cell))
    return PlainCells(_cut(fields, *patterns), tuple(columns), " OR ".join(filter(None, doubts)))


Fields: TypeAlias = dict[str, tuple[T.StructField, Form]]
"""By the keys of objects."""


class _Pattern(NamedTuple):
    """A pattern of lines, and the fields whose tokens its groups hold, by their keys in the order of the groups."""

    text: str
    keys: Sequence[str]


def _cut(fields: Fields, first: _Pattern, second: _Pattern) -> tuple[str, ...]:
    """How Spark finds the tokens of a line in the order of the fields, behind one that is empty."""
    line_end = text(chr(10))  # which no line holds
    short = f"`@first` IS NOT NULL AND octet_length(`@text`) < {_LONGEST}"

    def tokens(pattern: _Pattern) -> str:
        groups = "".join(f"{chr(10)}${pattern.keys.index(key) + 1}" for key in fields)
        return f"regexp_replace(`@text`, {text(pattern.text)}, {text(groups)})"

    def cut(replaced: str) -> str:
        return f"startswith({replaced}, {line_end})"

    return (
        named(when("is_valid_utf8(`@text`)", tokens(first)), "@first"),
        named(when(cut("`@first`"), "`@first`", when(short, tokens(second))), "@tokens"),
        named(when(cut("`@tokens`"), f"split(`@tokens`, {line_end})"), "@cells"),
    )


def _fields(struct: T.StructType, *, own: bool) -> Fields:
    timed = sum(isinstance(field.dataType, T.TimestampType | T.DayTimeIntervalType) for field in struct.fields)
    if not 0 < len(struct.fields) + 2 * timed <= _WIDEST:
        raise Unsuited
    found: Fields = {}
    for field in struct.fields:
        key = field.name if own else field.metadata.get("path") or field.name
        composite = isinstance(field.dataType, T.ArrayType | T.MapType | T.StructType)
        if composite or key in found or "of" in field.metadata or "needs" in field.metadata:
            raise Unsuited
        found[key] = field, plain_value(field.dataType, own=own)
    return found


# --- the pattern -----------------------------------------------------------------------------------------------------


def _line(object_: str, keys: Iterable[str], fields: Fields) -> _Pattern:
    return _Pattern(rf"\A[ \t\r]*+\{{{object_}\}}[ \t\r]*+\z", [key for key in keys if key in fields])


def _in_order(fields: Fields, lines: Sequence[bytes]) -> _Pattern:
    """The pattern of objects with such keys as the lines have, without escapes and as programs write them."""
    keys = _keys(lines, fields)
    first, *others = (f'"{literal(key)}":{_SPACE}{_token(key, fields)}' for key in keys)
    return _line(first + "".join(f"(?:,{_SPACE}{member})?+" for member in others), keys, fields)


def _in_any_order(fields: Fields) -> _Pattern:
    """The pattern of objects whose members are those of the fields, and others in which none can be."""
    known = [f'"{literal(key)}"{WS}:{WS}({_pattern(field, form)})' for key, (field, form) in fields.items()]
    keys = "|".join(map(literal, sorted({*fields, *_within(fields)})))
    other = f'(?!"(?:{keys})"){KEY}{WS}:{WS}(?:{_any(_DEEPEST)})'
    members = rf'{WS}(?:(?:{"|".join([*known, other])}){WS}(?:,{WS}(?=")|(?=\}})))*+'
    return _line(members, fields, fields)


def _within(fields: Fields) -> set[str]:
    """The keys of objects that could hold fields."""
    return {key.split(".")[0] for key in fields if "." in key}


def _keys(lines: Sequence[bytes], fields: Fields) -> list[str]:
    """The keys in the order of the lines, each in front of what stands behind it somewhere, and all fields; none of
    objects that could hold fields.
    """
    keys, apart = list[str](), _within(fields) - {*fields}
    for object_ in map(_object, lines):
        behind = 0
        for key in object_:
            if key not in keys and key not in apart:
                keys.insert(behind, key)
            behind = keys.index(key) + 1 if key in keys else behind
    keys += (key for key in fields if key not in keys)
    if len(keys) > _MOST:
        raise Unsuited
    return keys


def _object(line: bytes) -> Sequence[str]:
    """The keys of an object that are written as they are."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return ()
    return list(filter(_BARE.fullmatch, cast("dict[str, Any]", found))) if isinstance(found, dict) else ()


def _token(key: str, fields: Fields) -> str:
    """The pattern of what stands under a key, without escapes; of a field it is a group."""
    found = f"({_pattern(*fields[key])})" if key in fields else f"(?:{_any(1)})"
    return found.replace(STRING, BARE_STRING)


def _pattern(field: T.StructField, form: Form) -> str:
    """The pattern of the tokens of a field. JSON has no zero below zero but with a point or an exponent."""
    pattern = rf"(?!-0[,}} \t])(?:{form.pattern})" if isinstance(field.dataType, T.DoubleType) else form.pattern
    return f"{pattern}|null" if field.nullable else pattern


def _any(deep: int) -> str:
    """The pattern of any value that has no more than so many brackets within each other."""
    if not deep:
        return f"{STRING}|{_NUMBER}|{_LITERAL}"
    item = _any(deep - 1)
    items = rf"\[{WS}(?:(?:{item}){WS}(?:,{WS}(?!\])|(?=\])))*+\]"
    members = rf'\{{{WS}(?:{STRING}{WS}:{WS}(?:{item}){WS}(?:,{WS}(?=")|(?=\}})))*+\}}'
    return f"{_any(0)}|{items}|{members}"


# --- the values ------------------------------------------------------------------------------------------------------


def _value(type_: T.DataType, form: Form, cell: str) -> str:
    """The value of a token, null of `null` and of none."""
    is_text, inside = f"startswith({cell}, '\"')", f"substring({cell}, 2, char_length({cell}) - 2)"
    number = f"nullif(nullif({cell}, ''), 'null')"
    match type_:
        case T.NullType():
            return "NULL"
        case T.BooleanType():
            return f"{number} = 'true'"
        case T.TimestampType():
            seconds = f"timestamp_micros({micros_of(f'CAST({number} AS double)')})"
            return when(is_text, f"CAST({inside} AS timestamp)", seconds)
        case T.DecimalType():
            return f"CAST({when(is_text, inside, number)} AS {type_.simpleString()})"
        case T.StringType() | EnumType():
            escaped = f"get_json_object(concat('[', {cell}, ']'), '$[0]')"
            return when(f"{is_text} AND contains({cell}, {text(chr(92))})", escaped, when(is_text, inside))
        case T.BinaryType():
            return when(is_text, f"unbase64({inside})")
        case _:
            content = when(is_text, inside) if form.parsed == T.StringType() else f"CAST({number} AS {_sql(form)})"
            return form.value(content)


def _sql(form: Form) -> str:
    return form.parsed.simpleString()


def _doubt(field: T.StructField, form: Form, cell: str) -> str:
    """Whether a field is in doubt, or missing where it may not be."""
    value = quoted(field.name)
    inside = form.doubt(value, value)
    if isinstance(field.dataType, T.NullType):
        return ""
    if not field.nullable:
        return f"{value} IS NULL" if inside in ("", f"{value} IS NULL") else f"({value} IS NULL OR {inside})"
    return f"({cell} NOT IN ('', 'null') AND ({inside}))" if inside else ""
