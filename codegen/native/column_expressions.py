"""Expressions as Polars, each with a mask of the records that fail: total over `ghcm.functions.FUNCTIONS`.

What has no columnar form that gives exactly the language's values is refused with the reason (`Unsupported`); its chain runs by rows. Masks follow the
laziness of `if`, `and`, `or` and `coalesce`: a branch that is not taken cannot fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal as Number
from typing import assert_never

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.column_types import dtype_text
from ghcm.codegen.native.patterns import may_be_empty, polars_pattern
from ghcm.expr import Call, Expr, Get, If, Literal, MakeList, MakeStruct, Param, Var
from ghcm.types import (
    Bool,
    Date,
    Decimal,
    Duration,
    Float,
    Int,
    List,
    Map,
    Null,
    String,
    Struct,
    Timestamp,
    Type,
    is_nullable,
    strip,
)

__all__ = ["COLUMN_FUNCTIONS", "ColumnScope", "Column", "Unsupported", "either"]

# Python's precedences of the operators that Polars overloads, loosest first.
_COMPARE, _OR, _XOR, _AND, _SUM, _PRODUCT, _UNARY, _ATOM = range(8)


class Unsupported(Exception):
    """An expression has no columnar form; the text says why."""


@dataclass(frozen=True, slots=True)
class Column:
    """A Polars expression as text, how tightly it binds, and the mask of its failing records (None: it cannot fail).

    `bare`: the Python literal where it is one, usable beside an operator. `level` is a precedence.
    """

    text: str
    level: int = _ATOM
    fails: Column | None = None
    bare: str | None = None

    def at(self, level: int) -> str:
        """The text, in parentheses where a place of this precedence needs them."""
        return self.text if self.level >= level else f"({self.text})"


def either(*masks: Column | None) -> Column | None:
    """The mask that is true where any of the masks is; repeated ones once."""
    known = list(dict.fromkeys(mask for mask in masks if mask is not None))
    if len(known) <= 1:
        return known[0] if known else None
    return Column(" | ".join(mask.at(_OR) for mask in known), _OR)


def _where(condition: str, mask: Column | None) -> Column | None:
    return None if mask is None else Column(f"{condition} & {mask.at(_AND)}", _AND)


@dataclass
class ColumnScope:
    """What the variables of a lambda are: columns of the frame, by name of the variable and field; `None` is the value itself."""

    fields: dict[tuple[str, str | None], Column] = field(default_factory=dict)
    parameters: set[str] = field(default_factory=set)

    def bind(self, variable: Var, element_value: str = "value") -> None:
        """Let a variable stand for the record of the frame, or for its one column."""
        if isinstance(variable.type, Struct):
            for part in variable.type.fields:
                self.fields[variable.name, part.name] = Column(f'pl.col("{part.name}")')
        self.fields[variable.name, None] = Column(f'pl.col("{element_value}")')

    def bind_column(self, variable: Var, name: str) -> None:
        """Let a variable stand for one column, whatever its type."""
        self.fields = {key: column for key, column in self.fields.items() if key[0] != variable.name}
        self.fields[variable.name, None] = Column(f'pl.col("{name}")')

    def value(self, expr: Expr) -> Column:
        """The column of an expression; `Unsupported` where there is none."""
        match expr:
            case Literal(value=value, type=type_):
                return _literal(value, type_)
            case Var(name=name, type=type_):
                return self._variable(name, type_)
            case Param(name=name, type=type_):
                return self._parameter(name, type_)
            case Get():
                return self._get(expr)
            case Call():
                return COLUMN_FUNCTIONS[expr.function](self, expr)
            case If():
                return self._if(expr)
            case MakeStruct(values=values, type=Struct() as type_):
                return self._struct(values, type_)
            case MakeList(items=items, type=List() as type_):
                return self._list(items, type_)
            case MakeStruct() | MakeList():
                raise Unsupported(f"a value of {expr.type} made in place")
            case _:
                assert_never(expr)

    def _variable(self, name: str, type_: Type) -> Column:
        parts = [(key[1], column) for key, column in self.fields.items() if key[0] == name and key[1] is not None]
        if parts:
            return Column(f"pl.struct({', '.join(column.text for _, column in parts)})")
        return self.fields[name, None]

    def _parameter(self, name: str, type_: Type) -> Column:
        self.parameters.add(name)
        return _typed(f'parameters["{name}"]', type_)

    def _get(self, expr: Get) -> Column:
        if isinstance(expr.of, Var) and (found := self.fields.get((expr.of.name, expr.field))):
            return found
        of = self.value(expr.of)
        return Column(f'{of.at(_ATOM)}.struct.field("{expr.field}")', fails=of.fails)

    def _if(self, expr: If) -> Column:
        condition, then, otherwise = self.value(expr.condition), self.value(expr.then), self.value(expr.otherwise)
        text = f"pl.when({condition.text}).then({then.text}).otherwise({otherwise.text})"
        test = condition.at(_AND)
        if is_nullable(expr.condition.type):
            test = f"{condition.at(_ATOM)}.fill_null(False)"
        inverse = f"~{test}" if test.startswith("(") or not test.startswith("~") else test[1:]
        fails = either(condition.fails, _where(test, then.fails), _where(inverse, otherwise.fails))
        return Column(text, fails=fails)

    def _struct(self, values: tuple[Expr, ...], type_: Struct) -> Column:
        if not values:
            raise Unsupported("a struct without fields")
        columns = [self.value(each) for each in values]
        parts = [f'{column.at(_ATOM)}.alias("{part.name}")' for column, part in zip(columns, type_.fields, strict=True)]
        return Column(f"pl.struct({', '.join(parts)})", fails=either(*(column.fails for column in columns)))

    def _list(self, items: tuple[Expr, ...], type_: List) -> Column:
        if isinstance(strip(type_.item), List | Map | Struct | Null):
            raise Unsupported(f"a {type_} made in place: Polars joins lists where they would be nested")
        if not items:
            return Column(f"pl.lit([], dtype={dtype_text(type_)})")
        columns = [self.value(each) for each in items]
        text = f"pl.concat_list({', '.join(column.text for column in columns)})"
        return Column(text, fails=either(*(column.fails for column in columns)))


# --- literals --------------------------------------------------------------------------------------------------------


def _typed(text: str, type_: Type) -> Column:
    """Python text of a canonical value as a column."""
    match strip(type_):
        case Timestamp():
            return Column(f"columns.timestamp(pl.lit({text}, pl.Int64))")
        case Duration():
            return Column(f"columns.duration(pl.lit({text}, pl.Int64))")
        case Date():
            return Column(f"pl.lit({text}, pl.Int32).cast(pl.Date)")
        case List(item=item) if not isinstance(strip(item), List | Map | Struct | Timestamp | Duration | Date | Decimal):
            return Column(f"pl.lit({text}, dtype={dtype_text(type_)})")
        case List() | Struct() | Map():
            raise Unsupported(f"a constant of {type_}")
        case _:
            return Column(f"pl.lit({text}, {dtype_text(type_)})")


def _literal(value: object, type_: Type) -> Column:
    if value is None:
        return Column(f"pl.lit(None, {dtype_text(type_)})")
    match value, strip(type_):
        case float(), _ if math.isnan(value) or math.isinf(value):
            return Column(f'pl.lit(float("{value}"), pl.Float64)')
        case Number(), _:
            return Column(f'pl.lit("{value}").cast({dtype_text(type_)})')
        case tuple(), Struct(fields=fields):
            parts = [f'{_literal(each, part.type).text}.alias("{part.name}")' for each, part in zip(value, fields, strict=True)]
            return Column(f"pl.struct({', '.join(parts)})")
        case bool() | str(), _:
            text = _text(value)
            return Column(f"pl.lit({text})", bare=text)
        case float(), _:
            return Column(f"pl.lit({value!r}, pl.Float64)", bare=repr(value))
        case int(), Int():
            text = f"{value:_}" if abs(value) >= 100_000 else str(value)
            return Column(f"pl.lit({text}, pl.Int64)", bare=text)
        case _:
            return _typed(repr(value), type_)


def _text(value: bool | str) -> str:
    text = repr(value)
    return text if not isinstance(value, str) or '"' in text or "\\'" in text else f'"{text[1:-1]}"'


# --- functions -------------------------------------------------------------------------------------------------------

Emit = Callable[[ColumnScope, Call], Column]


def _kind(expr: Call) -> Type:
    return strip(expr.arguments[0].type)


def _arguments(scope: ColumnScope, expr: Call) -> list[Column]:
    return [scope.value(each) for each in expr.arguments]


def _masks(columns: list[Column]) -> Column | None:
    return either(*(column.fails for column in columns))


def _infix(operator: str, level: int, left: Column, right: Column) -> Column:
    """`left operator right`, with a bare literal where the other side is an expression."""
    one = left.bare if left.bare is not None and right.bare is None else left.at(level)
    two = right.bare if right.bare is not None else right.at(level + 1)
    if left.bare is not None and right.bare is not None:
        one, two = left.text, right.text
    return Column(f"{one} {operator} {two}", level)


def _counted(column: Column, kind: Type) -> Column:
    """Ints as they are, timestamps and durations as microseconds."""
    return Column(f"columns.micros({column.text})") if isinstance(kind, Timestamp | Duration) else column


def _as(kind: Type, column: Column) -> Column:
    """Microseconds as what the result is."""
    match kind:
        case Timestamp():
            return Column(f"columns.timestamp({column.text})")
        case Duration():
            return Column(f"columns.duration({column.text})")
        case _:
            return column


def _mask(name: str, *arguments: Column) -> Column:
    return Column(f"columns.{name}({', '.join(argument.text for argument in arguments)})")


def _with(column: Column, *masks: Column | None) -> Column:
    return Column(column.text, column.level, either(*masks), column.bare)


def _arithmetic(operator: str, level: int, fails: str) -> Emit:
    def emit(scope: ColumnScope, expr: Call) -> Column:
        found = _arguments(scope, expr)
        if isinstance(_kind(expr), Float | String):
            return _with(_infix(operator, level, *found), _masks(found))
        counts = [_counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
        value = _as(strip(expr.type), _infix(operator, level, *counts))
        return _with(value, _masks(found), _mask(fails, *counts))

    return emit


def _is_zero(column: Column) -> Column:
    return Column(f"{column.at(_OR)} == 0", _COMPARE)


def _divide(scope: ColumnScope, expr: Call) -> Column:
    found = _arguments(scope, expr)
    zero = None if constant(expr.arguments[1]) else _is_zero(found[1])
    return _with(_infix("/", _PRODUCT, *found), _masks(found), zero)


def _floordiv(scope: ColumnScope, expr: Call) -> Column:
    if isinstance(_kind(expr), Float):
        raise Unsupported("// of floats: Polars rounds the quotient where Python corrects it by the remainder")
    found = _arguments(scope, expr)
    counts = [_counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
    safe = constant(expr.arguments[1]) not in (None, 0, -1)
    return _with(_infix("//", _PRODUCT, *counts), _masks(found), None if safe else _mask("floordiv_fails", *counts))


def _modulo(scope: ColumnScope, expr: Call) -> Column:
    if isinstance(_kind(expr), Float):
        raise Unsupported("% of floats: Polars computes it from a rounded quotient")
    found = _arguments(scope, expr)
    zero = None if constant(expr.arguments[1]) else _is_zero(found[1])
    return _with(_infix("%", _PRODUCT, *found), _masks(found), zero)


def _negate(scope: ColumnScope, expr: Call) -> Column:
    (found,) = _arguments(scope, expr)
    if isinstance(_kind(expr), Float):
        return _with(Column(f"-{found.at(_UNARY)}", _UNARY), found.fails)
    count = _counted(found, _kind(expr))
    value = _as(strip(expr.type), Column(f"-{count.at(_UNARY)}", _UNARY))
    return _with(value, found.fails, _mask("absolute_fails", count))


def _absolute(scope: ColumnScope, expr: Call) -> Column:
    (found,) = _arguments(scope, expr)
    if isinstance(_kind(expr), Float):
        return _with(Column(f"{found.at(_ATOM)}.abs()"), found.fails)
    count = _counted(found, _kind(expr))
    return _with(_as(strip(expr.type), Column(f"{count.at(_ATOM)}.abs()")), found.fails, _mask("absolute_fails", count))


def _refuse_nested(expr: Call) -> None:
    kind = _kind(expr)
    if isinstance(kind, Struct | List):
        raise Unsupported(f"{expr.function} of {kind}: Polars orders no structs and takes nulls inside them for unknown")
    if isinstance(kind, Null):
        raise Unsupported("a comparison of nulls only")


def _comparison(operator: str) -> Emit:
    def emit(scope: ColumnScope, expr: Call) -> Column:
        _refuse_nested(expr)
        found = _arguments(scope, expr)
        left, right = found
        if left.bare is not None and right.bare is None:
            mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
            return _with(_infix(mirrored, _COMPARE + 0, _tight(right), left), _masks(found))
        return _with(_infix(operator, _COMPARE, _tight(left), _tight(right)), _masks(found))

    return emit


def _tight(column: Column) -> Column:
    return column if column.level > _COMPARE else Column(f"({column.text})", _ATOM, column.fails, column.bare)


def _extreme(name: str) -> Emit:
    def emit(scope: ColumnScope, expr: Call) -> Column:
        _refuse_nested(expr)
        found = _arguments(scope, expr)
        return _with(_mask(name, *found), _masks(found))

    return emit


def _and(scope: ColumnScope, expr: Call) -> Column:
    left, right = _arguments(scope, expr)
    undecided = left.at(_AND) if not is_nullable(expr.arguments[0].type) else f"{left.at(_ATOM)}.fill_null(True)"
    return Column(f"{left.at(_AND)} & {right.at(_AND + 1)}", _AND, either(left.fails, _where(undecided, right.fails)))


def _or(scope: ColumnScope, expr: Call) -> Column:
    left, right = _arguments(scope, expr)
    undecided = left.at(_ATOM) if not is_nullable(expr.arguments[0].type) else f"{left.at(_ATOM)}.fill_null(False)"
    return Column(f"{left.at(_OR)} | {right.at(_OR + 1)}", _OR, either(left.fails, _where(f"~{undecided}", right.fails)))


def _method(text: str) -> Emit:
    """A method of the first argument; `{1}`, `{2}` stand for the others."""

    def emit(scope: ColumnScope, expr: Call) -> Column:
        first, *others = found = _arguments(scope, expr)
        names = [column.bare if column.bare is not None else column.text for column in others]
        return Column(first.at(_ATOM) + text.format("", *names), fails=_masks(found))

    return emit


def _not(scope: ColumnScope, expr: Call) -> Column:
    (found,) = _arguments(scope, expr)
    return Column(f"~{found.at(_UNARY)}", _UNARY, found.fails)


def _coalesce(scope: ColumnScope, expr: Call) -> Column:
    texts, missing, fails = [], "", None
    for each in expr.arguments:
        column = scope.value(each)
        texts.append(column.text)
        fails = either(fails, _where(missing, column.fails) if missing else column.fails)
        missing = f"{missing} & {column.at(_ATOM)}.is_null()" if missing else f"{column.at(_ATOM)}.is_null()"
        if not is_nullable(each.type):
            break
    return Column(f"pl.coalesce({', '.join(texts)})", fails=fails)


def _same(scope: ColumnScope, expr: Call) -> Column:
    return scope.value(expr.arguments[0])


def _cast(scope: ColumnScope, expr: Call, type_: Type, *masks: Column) -> Column:
    (found,) = _arguments(scope, expr)
    strict = ", strict=False" if masks else ""
    return Column(f"{found.at(_ATOM)}.cast({dtype_text(type_)}{strict})", fails=either(found.fails, *masks))


def _to_int(scope: ColumnScope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    match _kind(expr):
        case Float():
            return _cast(scope, expr, Int(), _mask("float_to_int_fails", found))
        case String():
            return _cast(scope, expr, Int(), _mask("string_to_int_fails", found))
        case Int():
            return found
        case _:
            return _cast(scope, expr, Int())


def _to_float(scope: ColumnScope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    match _kind(expr):
        case String():
            return _cast(scope, expr, Float(), _mask("string_to_float_fails", found))
        case Float():
            return found
        case _:
            return _cast(scope, expr, Float())


def _to_string(scope: ColumnScope, expr: Call) -> Column:
    (found,) = _arguments(scope, expr)
    match _kind(expr):
        case Float():
            raise Unsupported("to_string of floats: Polars writes exponents differently from Python")
        case Timestamp():
            return _with(_mask("timestamp_to_string", found), found.fails, _mask("timestamp_to_string_fails", found))
        case Date():
            return _with(_mask("date_to_string", found), found.fails, _mask("date_to_string_fails", found))
        case Duration():
            count = _counted(found, Duration())
            return _with(_mask("duration_to_string", count), found.fails, _mask("absolute_fails", count))
        case String():
            return found
        case _:
            return _cast(scope, expr, String())


def _length(scope: ColumnScope, expr: Call) -> Column:
    return _method(".list.len().cast(pl.Int64)" if isinstance(_kind(expr), List) else ".str.len_chars().cast(pl.Int64)")(scope, expr)


def _case(method: str) -> Emit:
    def emit(scope: ColumnScope, expr: Call) -> Column:
        (found,) = _arguments(scope, expr)
        return Column(f"{found.at(_ATOM)}.str.{method}()", fails=either(found.fails, _mask("case_fails", found)))

    return emit


def _contains(scope: ColumnScope, expr: Call) -> Column:
    kind = _kind(expr)
    if not isinstance(kind, List):
        first, second = found = _arguments(scope, expr)
        return Column(f"{first.at(_ATOM)}.str.contains({second.text}, literal=True)", fails=_masks(found))
    if not isinstance(kind.item, Bool | Int | String):
        raise Unsupported(f"contains of {kind}: Polars compares {kind.item} inside lists in its own way")
    first, second = found = _arguments(scope, expr)
    text = f"{first.at(_ATOM)}.list.contains({second.text})"
    if is_nullable(expr.arguments[1].type):
        text = f"pl.when({second.at(_ATOM)}.is_not_null()).then({text})"
    return Column(text, fails=_masks(found))


def _replace(scope: ColumnScope, expr: Call) -> Column:
    old, new = (constant(each) for each in expr.arguments[1:])
    if not isinstance(old, str) or not isinstance(new, str):
        raise Unsupported("replace of what is no constant: Polars replaces constants only")
    found = scope.value(expr.arguments[0])
    if not old:
        return found
    return Column(f"{found.at(_ATOM)}.str.replace_all({_text(old)}, {_text(new)}, literal=True)", fails=found.fails)


def _substring(scope: ColumnScope, expr: Call) -> Column:
    text, start, count = found = _arguments(scope, expr)
    limits = [isinstance(value := constant(each), int) and value >= 0 for each in expr.arguments[1:]]
    masks = [None if safe else Column(f"{column.at(_OR)} < 0", _COMPARE) for safe, column in zip(limits, (start, count), strict=True)]
    return _with(_mask("substring", text, start, count), _masks(found), *masks)


def _split(scope: ColumnScope, expr: Call) -> Column:
    text, separator = found = _arguments(scope, expr)
    empty = None if constant(expr.arguments[1]) else Column(f'{separator.at(_OR)} == ""', _COMPARE)
    return Column(f"{text.at(_ATOM)}.str.split({separator.text})", fails=either(_masks(found), empty))


def _pattern(expr: Call) -> str:
    text = constant(expr.arguments[1])
    if not isinstance(text, str):
        raise Unsupported("a pattern that is no constant")
    pattern = polars_pattern(text)
    plain = '"' not in pattern and pattern.isprintable() and not pattern.endswith("\\")
    return f'r"{pattern}"' if plain else repr(pattern)


def _matches(scope: ColumnScope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return Column(f"{found.at(_ATOM)}.str.contains({_pattern(expr)})", fails=found.fails)


def _extract_all(scope: ColumnScope, expr: Call) -> Column:
    pattern = _pattern(expr)
    if may_be_empty(str(constant(expr.arguments[1]))):
        raise Unsupported("extract_all of a pattern that matches the empty text: Rust leaves out some empty matches")
    found = scope.value(expr.arguments[0])
    return Column(f"{found.at(_ATOM)}.str.extract_all({pattern})", fails=found.fails)


def _item(scope: ColumnScope, expr: Call) -> Column:
    found = _arguments(scope, expr)
    return _with(_mask("item", *found), _masks(found), _mask("item_fails", *found))


def _truncate(scope: ColumnScope, expr: Call) -> Column:
    found = _arguments(scope, expr)
    counts = [_counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
    return _with(_as(Timestamp(), _mask("truncate", *counts)), _masks(found), _mask("truncate_fails", *counts))


def _to_micros(scope: ColumnScope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return _with(_counted(found, _kind(expr)), found.fails)


def _from_micros(scope: ColumnScope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return _with(_as(Timestamp(), found), found.fails)


COLUMN_FUNCTIONS: dict[str, Emit] = {
    "add": _arithmetic("+", _SUM, "add_fails"),
    "sub": _arithmetic("-", _SUM, "subtract_fails"),
    "mul": _arithmetic("*", _PRODUCT, "multiply_fails"),
    "div": _divide,
    "floordiv": _floordiv,
    "mod": _modulo,
    "neg": _negate,
    "abs": _absolute,
    "eq": _comparison("=="),
    "ne": _comparison("!="),
    "lt": _comparison("<"),
    "le": _comparison("<="),
    "gt": _comparison(">"),
    "ge": _comparison(">="),
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _method(".is_null()"),
    "is_not_null": _method(".is_not_null()"),
    "coalesce": _coalesce,
    "known": _same,
    "widen": lambda scope, expr: _cast(scope, expr, Int()),
    "to_int": _to_int,
    "to_float": _to_float,
    "to_string": _to_string,
    "length": _length,
    "lower": _case("to_lowercase"),
    "upper": _case("to_uppercase"),
    "trim": _method('.str.strip_chars(" \\t\\n\\r\\x0b\\x0c")'),
    "starts_with": _method(".str.starts_with({1})"),
    "ends_with": _method(".str.ends_with({1})"),
    "contains": _contains,
    "replace": _replace,
    "substring": _substring,
    "split": _split,
    "matches": _matches,
    "extract_all": _extract_all,
    "get": _item,
    "truncate": _truncate,
    "to_micros": _to_micros,
    "from_micros": _from_micros,
}
"""The functions by name."""

