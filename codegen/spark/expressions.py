"""Expressions as a job writes them: calls of the helpers that keep a column together with why it fails."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never, cast

from ghcm.codegen.spark.schemas import Schemas, identifier
from ghcm.expr import (
    Call,
    Expr,
    ForEach,
    Get,
    If,
    Lambda,
    Let,
    Literal,
    MakeList,
    MakeStruct,
    Param,
    Try,
    Var,
    children,
)
from ghcm.functions import FUNCTIONS
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Float,
    Int,
    Int32,
    List,
    Map,
    Null,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    strip,
)

__all__ = ["EMITTED", "Binding", "Emitter", "can_fail", "columns_binding", "python_text", "quote", "value_binding"]


@dataclass(frozen=True, slots=True)
class Binding:
    """How a lambda's parameter is written: the whole value, and one of its fields."""

    whole: str
    part: Callable[[str], str]


def columns_binding(whole: str) -> Binding:
    """A record that stands in the columns of a data frame."""
    return Binding(whole, lambda name: f"col({quote(name)})")


def value_binding(text: str) -> Binding:
    """A value that stands in one column or variable."""
    return Binding(text, lambda name: f"part_of({text}, {quote(name)})")


def quote(text: str) -> str:
    """A text as Python writes it, in double quotes where that needs no escape."""
    plain = repr(text)
    return plain if '"' in text or plain[0] == '"' else f'"{plain[1:-1]}"'


def python_text(value: object) -> str:
    """A canonical value as Python writes it.

    >>> python_text((1, [None, "a"], float("inf")))
    '(1, [None, "a"], float("inf"))'
    """
    match value:
        case float() if not math.isfinite(value):
            return f'float("{value!r}")'
        case str():
            return quote(value)
        case tuple():
            items = [python_text(each) for each in cast("tuple[object, ...]", value)]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        case list():
            return f"[{', '.join(python_text(each) for each in cast('list[object]', value))}]"
        case dict():
            pairs = cast("dict[object, object]", value).items()
            return f"{{{', '.join(f'{python_text(k)}: {python_text(v)}' for k, v in pairs)}}}"
        case _:
            return repr(value)


def can_fail(expr: Expr) -> bool:
    """Whether a record may fail in it."""
    if isinstance(expr, Try):
        return False
    mine = isinstance(expr, Call) and _failures(expr.function, expr.arguments)
    return mine or any(map(can_fail, children(expr)))


def _failures(name: str, arguments: tuple[Expr, ...]) -> bool:
    first = strip(arguments[0].type)
    total_of_floats = name in ("add", "sub", "mul", "neg", "abs") and isinstance(first, Float)
    total = total_of_floats or (name == "add" and isinstance(first, String))
    total = total or (name == "to_int" and isinstance(first, Int | Int32 | Bool))
    total = total or (name == "to_float" and not isinstance(first, String))
    return bool(FUNCTIONS[name].failures) and not total


@dataclass(frozen=True, slots=True)
class Emitter:
    """Writes expressions; `bindings` say how the parameters of the lambda around them are written."""

    schemas: Schemas
    bindings: Mapping[str, Binding]
    hint: str = "value"

    def body(self, function: Lambda, *bindings: Binding) -> str:
        """The body of a lambda with its parameters bound."""
        names = [parameter.name for parameter in function.parameters]
        return Emitter(self.schemas, dict(zip(names, bindings, strict=True)), self.hint).emit(function.body)

    def emit(self, expr: Expr) -> str:
        """The expression as a call of helpers that gives a `Checked`."""
        match expr:
            case Literal(value=value, type=type_):
                return self._literal(value, type_)
            case Var(name=name):
                return self.bindings[name].whole
            case Param(name=name):
                return f"job.given[{quote(name)}]"
            case Get(of=Var(name=name), field=part) if name in self.bindings:
                return self.bindings[name].part(part)
            case Get(of=of, field=part):
                return f"part_of({self.emit(of)}, {quote(part)})"
            case Call(function=name, arguments=arguments):
                return EMITTED[name](self, arguments)
            case If(condition=condition, then=then, otherwise=otherwise):
                return f"if_else({self.emit(condition)}, {self.emit(then)}, {self.emit(otherwise)})"
            case MakeStruct(values=values, type=type_):
                return self._struct([self.emit(value) for value in values], type_)
            case MakeList(items=items, type=type_):
                return self.call("make_list", self.schemas.text(type_, self.hint), *map(self.emit, items))
            case ForEach(kind=kind, list=of, item=item, body=body):
                return self.call(f"{kind.value}_items", self.emit(of), self._inside("item", item, body))
            case Let(variable=variable, value=value, body=body):
                return self.call("let", self.emit(value), self._inside("let", variable, body))
            case Try(body=body):
                return self.call("attempt", self.emit(body))
            case _:
                assert_never(expr)

    def call(self, name: str, *arguments: str) -> str:
        """The text of a call."""
        return f"{name}({', '.join(arguments)})"

    def _inside(self, prefix: str, variable: Var, body: Expr) -> str:
        """A function of Python that writes an expression in which a name is bound."""
        name = f"{prefix}_{identifier(variable.name)}"
        bindings = {**self.bindings, variable.name: value_binding(name)}
        return f"lambda {name}: {replace(self, bindings=bindings).emit(body)}"

    def _struct(self, values: list[str], type_: Type) -> str:
        struct = strip(type_)
        assert isinstance(struct, Struct)
        parts = ", ".join(f"{quote(name)}: {value}" for name, value in zip(struct.names, values, strict=True))
        return f"make_struct({self.schemas.text(struct, self.hint)}, {{{parts}}})"

    def _literal(self, value: object, type_: Type) -> str:
        if value is None:
            return "lit(None)" if isinstance(type_, Null) else f"null({self.schemas.text(type_, self.hint)})"
        match plain := strip(type_):
            case Bool() | Int() | Duration():
                return f"lit({value!r})"
            case Int32():
                return f"lit_int32({value!r})"
            case Float():
                return f"lit({python_text(value)})"
            case String():
                return f"lit({quote(cast('str', value))})"
            case Bytes():
                return f"lit({value!r})"
            case Timestamp():
                return f"lit_timestamp({value!r})"
            case Date():
                return f"lit_date({value!r})"
            case Decimal(precision=precision, scale=scale):
                return f'lit_decimal("{value}", {precision}, {scale})'
            case List(item=item):
                items = [self._literal(each, item) for each in cast("list[object]", value)]
                return self.call("make_list", self.schemas.text(type_, self.hint), *items)
            case Map(key=key, value=held):
                pairs = cast("dict[object, object]", value).items()
                entries = [f"({self._literal(k, key)}, {self._literal(v, held)})" for k, v in pairs]
                return self.call("make_map", self.schemas.text(type_, self.hint), *entries)
            case Struct(fields=fields) as struct:
                parts = zip(cast("tuple[object, ...]", value), fields, strict=True)
                return self._struct([self._literal(each, part.type) for each, part in parts], struct)
            case Null() | Nullable():
                return "lit(None)"
            case _:
                assert_never(plain)


_Emit = Callable[[Emitter, tuple[Expr, ...]], str]


def _plain(name: str) -> _Emit:
    return lambda emitter, arguments: emitter.call(name, *map(emitter.emit, arguments))


def _by_first(**names: str) -> _Emit:
    """The helper that the type of the first argument asks for."""

    def emit(emitter: Emitter, arguments: tuple[Expr, ...]) -> str:
        kind = type(strip(arguments[0].type)).__name__
        return emitter.call(names.get(kind, names.get("other", "")), *map(emitter.emit, arguments))

    return emit


def _sub(emitter: Emitter, arguments: tuple[Expr, ...]) -> str:
    match strip(arguments[0].type), strip(arguments[1].type):
        case Timestamp(), Timestamp():
            name = "between"
        case Timestamp(), _:
            name = "earlier"
        case Float(), _:
            name = "subtract_float"
        case _:
            name = "subtract"
    return emitter.call(name, *map(emitter.emit, arguments))


def _same(emitter: Emitter, arguments: tuple[Expr, ...]) -> str:
    return emitter.emit(arguments[0])


def _to_int(emitter: Emitter, arguments: tuple[Expr, ...]) -> str:
    match strip(arguments[0].type):
        case Float():
            name = "float_to_int"
        case String():
            name = "parse_int"
        case Int():
            return emitter.emit(arguments[0])
        case _:
            name = "to_int"
    return emitter.call(name, emitter.emit(arguments[0]))


def _to_micros(emitter: Emitter, arguments: tuple[Expr, ...]) -> str:
    text = emitter.emit(arguments[0])
    return f"micros({text})" if isinstance(strip(arguments[0].type), Timestamp) else text


def _pattern(name: str) -> _Emit:
    def emit(emitter: Emitter, arguments: tuple[Expr, ...]) -> str:
        pattern = arguments[1]
        assert isinstance(pattern, Literal), "the lowering takes constant patterns only"
        return f"{name}({emitter.emit(arguments[0])}, {quote(_java_pattern(str(pattern.value)))})"

    return emit


def _java_pattern(pattern: str) -> str:
    r"""The pattern for Java: what the lowering leaves reads alike but for `$`, which Java writes `\z`.

    >>> _java_pattern("a[$]\\$b$")
    'a[$]\\$b\\z'
    """
    return re.sub(
        r"\\.|\[\^?\]?(?:\\.|[^\]])*\]|\$", lambda part: r"\z" if part[0] == "$" else part[0], pattern, flags=re.S
    )


EMITTED: Mapping[str, _Emit] = {
    "add": _by_first(Float="add_float", String="join_text", Timestamp="later", other="add"),
    "sub": _sub,
    "mul": _by_first(Float="multiply_float", other="multiply"),
    "div": _plain("divide"),
    "floordiv": _by_first(Float="floor_divide_float", other="floor_divide"),
    "mod": _by_first(Float="modulo_float", other="modulo"),
    "neg": _by_first(Float="negative_float", other="negative"),
    "abs": _by_first(Float="magnitude_float", other="magnitude"),
    "eq": _plain("equal"),
    "ne": _plain("unequal"),
    "lt": _plain("less"),
    "le": _plain("at_most"),
    "gt": _plain("greater"),
    "ge": _plain("at_least"),
    "least": _plain("least"),
    "greatest": _plain("greatest"),
    "and": _plain("both"),
    "or": _plain("either"),
    "not": _plain("negated"),
    "is_null": _plain("is_null"),
    "is_not_null": _plain("is_not_null"),
    "coalesce": _plain("coalesce"),
    "known": _same,
    "widen": _plain("to_int"),
    "to_int": _to_int,
    "to_float": _by_first(String="parse_float", Float="to_float", other="to_float"),
    "to_string": _by_first(
        Float="float_text", Timestamp="timestamp_text", Date="date_text", Duration="duration_text", other="plain_text"
    ),
    "length": _by_first(List="size", other="length"),
    "lower": _plain("lower"),
    "upper": _plain("upper"),
    "trim": _plain("trim"),
    "starts_with": _plain("starts_with"),
    "ends_with": _plain("ends_with"),
    "contains": _by_first(List="has_item", other="contains"),
    "replace": _plain("replace"),
    "substring": _plain("substring"),
    "split": _plain("split"),
    "matches": _pattern("matches"),
    "extract_all": _pattern("extract_all"),
    "get": _plain("item"),
    "truncate": _plain("truncate"),
    "to_micros": _to_micros,
    "from_micros": _plain("from_micros"),
}
"""How each function of `ghcm.functions` is written; a test holds it total."""
