"""SQL that knows why it fails: what expressions of the language are while the compiler writes a job.

Nothing in here ever raises when it runs: `try_` functions and division give null, and the error says why. How each
function is written stands in `functions`; names, constants and texts in `library.sql`, which jobs use too.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never, cast

from ghcm import types
from ghcm.codegen.spark.library.sql import (
    Failing,
    bare,
    bound,
    constant,
    failing,
    fails,
    part,
    quoted,
    stands_alone,
    text,
    when,
)
from ghcm.codegen.spark.names import ahead, known_names, variable, with_columns_ahead
from ghcm.types import strip


@dataclass(frozen=True, slots=True)
class Checked:
    """A SQL expression and why it fails: `error` gives `reason: detail`, or null where all is well; None where it
    cannot fail. `nullable`: it may be null where it does not fail; `constant`: its value, where that is known.
    """

    value: str
    error: str | None = None
    nullable: bool = True
    constant: object = None

    def __str__(self) -> str:
        return self.value


def pure(value: str, *arguments: Checked) -> Checked:
    """A value that fails only where one of its arguments does."""
    return Checked(value, first(*(argument.error for argument in arguments)))


def partial(value: str, arguments: Iterable[Checked], *failures: str | None) -> Checked:
    """A value that fails where an argument does, or else for the first of its own reasons."""
    return Checked(value, first(*(argument.error for argument in arguments), *failures))


class _Failures(str):
    """Several errors as one, the first that there is."""

    parts: tuple[str, ...] = ()


def first(*errors: str | None) -> str | None:
    """The first error that there is; one that is among them twice is asked for once, and those that stand side by side
    and say the same are one.
    """
    found = [part for error in errors if error for part in (error.parts if isinstance(error, _Failures) else (error,))]
    parts = tuple(_side_by_side(dict.fromkeys(found)))
    if len(parts) < 2:
        return parts[0] if parts else None
    joined = _Failures(f"coalesce({', '.join(parts)})")
    joined.parts = parts
    return joined


def _side_by_side(errors: Iterable[str]) -> list[str]:
    parts: list[str] = []
    for error in errors:
        last = parts[-1] if parts else None
        if isinstance(error, Failing) and isinstance(last, Failing) and error.says == last.says:
            parts[-1] = failing(f"{bare(last.condition)} OR {bare(error.condition)}", error.says)
        else:
            parts.append(error)
    return parts


def given(*arguments: Checked) -> list[str]:
    """The conditions that these are not null, of those that may be."""
    return [f"{argument} IS NOT NULL" for argument in arguments if argument.nullable]


def all_of(*conditions: str) -> str:
    """The condition that all of these hold."""
    return " AND ".join(conditions)


def overflows(value: str, *arguments: Checked) -> str:
    """The error where a `try_` function gave nothing for something."""
    missing = all_of(f"{value} IS NULL", *given(*arguments))
    return fails(missing, "overflow", "the result does not fit into 64 bits")


def without(error: str | None, value: str, name: str) -> str | None:
    """The error, in which the name of a column stands for its value."""
    if error is None or not stands_alone(value):
        return error
    found = re.compile(rf"(?<![\w`.]){re.escape(value)}(?![\w`(])")
    parts = error.parts if isinstance(error, _Failures) else (error,)

    def replaced(sql: str) -> str:
        return found.sub(lambda _: name, sql) if "'" in value else _outside_texts(found, name, sql)

    return first(
        *(
            failing(replaced(part.condition), part.says) if isinstance(part, Failing) else replaced(part)
            for part in parts
        )
    )


def _outside_texts(found: re.Pattern[str], name: str, sql: str) -> str:
    """SQL in which a name stands for what is found in it, but for its texts."""
    pieces = re.split(r"('(?:[^'\\]|\\.)*')", sql, flags=re.DOTALL)
    return "".join(piece if index % 2 else found.sub(lambda _: name, piece) for index, piece in enumerate(pieces))


# --- types -----------------------------------------------------------------------------------------------------------


def ddl(type_: types.Type) -> str:
    """A type as SQL writes it; a duration is held as microseconds."""
    match plain := strip(type_):
        case types.Bool():
            return "boolean"
        case types.Int() | types.Duration():
            return "bigint"
        case types.Int32():
            return "int"
        case types.Float():
            return "double"
        case types.Decimal(precision=precision, scale=scale):
            return f"decimal({precision},{scale})"
        case types.String() | types.Enumeration():
            return "string"
        case types.Bytes():
            return "binary"
        case types.Timestamp():
            return "timestamp"
        case types.Date():
            return "date"
        case types.List(item=item):
            return f"array<{ddl(item)}>"
        case types.Map(key=key, value=value):
            return f"map<{ddl(key)}, {ddl(value)}>"
        case types.Struct(fields=fields):
            return f"struct<{', '.join(f'{quoted(each.name)}: {ddl(each.type)}' for each in fields)}>"
        case types.Null() | types.Nullable():
            return "void"
        case _:
            assert_never(plain)


# --- columns, constants and what is made of them ---------------------------------------------------------------------


def col(name: str) -> Checked:
    """A column of the record."""
    return Checked(quoted(name))


def parameter(name: str) -> Checked:
    """A parameter of the unit: a mark in the text, where the job puts what it was given."""
    known_names().parameters.add(name)
    return Checked(f"\0{name}\0")


def part_of(of: Checked, name: str) -> Checked:
    """A field of a struct; null of null."""
    return pure(part(of.value, name), of)


def null(type_: types.Type) -> Checked:
    """Null, typed."""
    return Checked("NULL" if isinstance(strip(type_), types.Null) else f"cast(NULL AS {ddl(type_)})")


def make_struct(type_: types.Struct, values: Iterable[Checked], *, exact: bool = False) -> Checked:
    """A record of these values; `exact`: they are of the types of its fields."""
    parts = tuple(values)
    record = f"named_struct({', '.join(f'{text(n)}, {value}' for n, value in zip(type_.names, parts, strict=True))})"
    return pure(record if exact else f"cast({record} AS {ddl(type_)})", *parts)


def make_list(type_: types.Type, items: Iterable[Checked], *, exact: bool = False) -> Checked:
    """A list of these items; `exact`: there are some, of the list's own type."""
    parts = tuple(items)
    listed = f"array({', '.join(map(str, parts))})"
    return pure(listed if exact else f"cast({listed} AS {ddl(type_)})", *parts)


_PLAIN = types.Bool | types.Int | types.Duration | types.Float | types.String | types.Enumeration | types.Bytes
"""Types whose constants say by themselves what they are."""


def literal(value: object, type_: types.Type) -> Checked:
    """A canonical value of a type as a constant."""
    if value is None:
        return null(type_)
    plain = strip(type_)
    if isinstance(plain, _PLAIN):
        return Checked(constant(value), nullable=False, constant=value)
    match plain:
        case types.Int32():
            return Checked(f"int({value})", nullable=False, constant=value)
        case types.Timestamp():
            return Checked(f"timestamp_micros({value}L)")
        case types.Date():
            return Checked(f"date_from_unix_date({value})")
        case types.Decimal():
            return Checked(f"cast('{value}' AS {ddl(plain)})")
        case types.List(item=item):
            return make_list(plain, (literal(each, item) for each in cast("list[object]", value)))
        case types.Map(key=key, value=held):
            pairs = cast("Mapping[object, object]", value).items()
            entries = ", ".join(f"{literal(k, key)}, {literal(v, held)}" for k, v in pairs)
            return Checked(f"cast(map({entries}) AS {ddl(plain)})")
        case types.Struct(fields=fields):
            parts = zip(cast("tuple[object, ...]", value), fields, strict=True)
            return make_struct(plain, (literal(each, field.type) for each, field in parts))
        case types.Null() | types.Nullable():
            return Checked("NULL")
        case _:
            assert_never(plain)


# --- forms that Python reads exactly ---------------------------------------------------------------------------------


def python_form(value: str, type_: types.Type) -> str:
    """The value in a form that Python reads exactly: moments as microseconds, days as a number."""
    return _changed(value, type_, {types.Timestamp: "unix_micros", types.Date: "unix_date"})


def spark_form(value: str, type_: types.Type) -> str:
    """The inverse of `python_form`."""
    return _changed(value, type_, {types.Timestamp: "timestamp_micros", types.Date: "date_from_unix_date"})


def _changed(value: str, type_: types.Type, functions: Mapping[type[types.Type], str]) -> str:
    """The value with these functions of what is of these types in it."""
    if not _has_moments(type_):
        return value
    match plain := strip(type_):
        case types.List(item=item):
            each = variable("item")
            return f"transform({value}, {each} -> {_changed(each, item, functions)})"
        case types.Map(key=key, value=held):
            each = variable("entry")
            name, of = _changed(f"{each}.key", key, functions), _changed(f"{each}.value", held, functions)
            entry = f"named_struct('key', {name}, 'value', {of})"
            return f"map_from_entries(transform(map_entries({value}), {each} -> {entry}))"
        case types.Struct(fields=fields):
            changed = ((each.name, _changed(part(value, each.name), each.type, functions)) for each in fields)
            return when(f"{value} IS NOT NULL", f"named_struct({', '.join(f'{text(n)}, {v}' for n, v in changed)})")
        case _:  # a moment or a day
            return f"{functions[type(plain)]}({value})"


def _has_moments(type_: types.Type) -> bool:
    match strip(type_):
        case types.Timestamp() | types.Date():
            return True
        case types.List(item=item):
            return _has_moments(item)
        case types.Map(key=key, value=value):
            return _has_moments(key) or _has_moments(value)
        case types.Struct(fields=fields):
            return any(_has_moments(each.type) for each in fields)
        case _:  # other scalars are the same on both sides
            return False


# --- names and choices -----------------------------------------------------------------------------------------------


def if_else(condition: Checked, then: Checked, otherwise: Checked) -> Checked:
    """`then` where the condition is true; only the branch that is taken can fail."""
    value = when(condition.value, then.value, otherwise.value)
    if then.error is None and otherwise.error is None:
        return Checked(value, condition.error)
    taken = when(condition.value, then.error or "NULL", otherwise.error or "NULL")
    return Checked(value, first(condition.error, taken))


def attempt(a: Checked) -> Checked:
    """The value, null where it fails."""
    return Checked(a.value if a.error is None else when(f"{a.error} IS NULL", a.value))


def let(value: Checked, body: Callable[[Checked], Checked], word: str = "given") -> Checked:
    """The body for a value that is computed once: text that is short is repeated, other text becomes a column ahead of
    the expression, or is bound to a name where there is none, within a lambda.

    What Python computes cannot stand where a name is bound.
    """
    if len(value.value) <= 100 and not calls_python(value.value):
        given = body(Checked(value.value))
        return Checked(given.value, first(value.error, given.error))
    columns = ahead()
    name = variable(word) if columns is None else columns.add(word, value.value)
    given = body(Checked(name))
    if columns is not None:
        return Checked(given.value, first(value.error, given.error))
    if calls_python(f"{given.value} {given.error}"):
        given = body(Checked(value.value))
        return Checked(given.value, first(value.error, given.error))
    error = None if given.error is None else bound(value.value, name, given.error)
    return Checked(bound(value.value, name, given.value), first(value.error, error))


_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)
_PYTHON_CALL = re.compile(r"\b(clocks_at|moment_of_clocks|float_repr|json_at|json_read_\w+|json_written_\w+)\(")


def calls_python(value: str) -> bool:
    """Whether Spark calls Python for it, which it cannot do in a SQL lambda."""
    return _PYTHON_CALL.search(_TEXT.sub("", value)) is not None


def in_lambda(value: str, body: Callable[[str], str]) -> str:
    """SQL that has a value in a lambda of its own; for one that is made in Python a name stands there."""
    if not calls_python(value):
        return body(value)
    columns = ahead()
    if columns is not None:
        return body(columns.add("given", value))
    name = variable("given")
    return bound(value, name, body(name))


def folded(a: Checked, first: Checked, type_: str, body: Callable[[Checked], Checked]) -> Checked:
    """What a body makes of the value so far and an item, from one to the next; the first failure ends it."""
    so_far, each = variable("so_far"), variable("item")
    with with_columns_ahead(None):
        given = body(Checked(f"named_struct('_1', {so_far}, '_2', {each})"))
    if given.error is None:
        start = f"cast({first} AS {type_})"
        return pure(f"aggregate({a}, {start}, ({so_far}, {each}) -> cast({given} AS {type_}))", first, a)
    with with_columns_ahead(None):
        given = body(Checked(f"named_struct('_1', {so_far}.value, '_2', {each})"))
    state = f"struct<value: {type_}, error: string>"
    start = f"cast(named_struct('value', {first}, 'error', NULL) AS {state})"
    after = f"cast(named_struct('value', {given}, 'error', {given.error}) AS {state})"
    step = when(f"{so_far}.error IS NULL", after, so_far)
    result = f"aggregate({a}, {start}, ({so_far}, {each}) -> {step})"
    return partial(f"({result}).value", (first, a), f"({result}).error")


def each_item(function: str, a: Checked, body: Callable[[Checked], Checked], word: str = "item") -> Checked:
    """A function of a list and a lambda; it fails for the first of the items for which the body does."""
    name = variable(word)
    with with_columns_ahead(None):
        given = body(Checked(name))
    value = f"{function}({a}, {name} -> {given})"
    if given.error is None:
        return pure(value, a)
    errors, why = f"transform({a}, {name} -> {given.error})", variable("why")
    return partial(value, (a,), f"get(filter({errors}, {why} -> {why} IS NOT NULL), 0)")
