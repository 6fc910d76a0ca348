"""Expressions as a job writes them: calls of the helpers that keep a column together with why it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never, cast

from ghcm.codegen.spark.functions import EMITTED
from ghcm.codegen.spark.schemas import Schemas, identifier
from ghcm.codegen.spark.text import python_text, quote
from ghcm.errors import GhcmError
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
    walk,
)
from ghcm.functions import FAMILIES, FUNCTIONS
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
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
from ghcm.types.unification import unify


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


def can_fail(expr: Expr) -> bool:
    """Whether a record may fail in it."""
    if isinstance(expr, Try):
        return False
    mine = isinstance(expr, Call) and _failures(expr.function, expr.arguments)
    return mine or any(map(can_fail, children(expr)))


def _failures(name: str, arguments: tuple[Expr, ...]) -> bool:
    first = strip(arguments[0].type)
    never = name in ("add", "sub", "mul", "neg", "abs") and isinstance(first, Float | Decimal)
    total = never or (name == "add" and isinstance(first, String | List))
    total = total or (name == "to_int" and isinstance(first, Int | Int32 | Bool))
    total = total or (name == "get" and isinstance(first, Map))
    total = total or (name == "list_sum" and isinstance(first, List) and isinstance(strip(first.item), Float | Decimal))
    total = total or (name == "to_float" and not isinstance(first, String))
    total = total or (name == "to_decimal" and _holds(arguments[1].type, first))
    return bool(FUNCTIONS[name].failures) and not total


def _holds(made: Type, given: Type) -> bool:
    """Whether the decimal of which `made` is a list has room for all digits of whatever is given."""
    return isinstance(made, List) and unify(given, made.item) == made.item


@dataclass(frozen=True, slots=True)
class SqlLambda:
    """A function that Spark calls by itself for many values within one record, where it cannot call Python."""

    name: str
    hint: str

    def check(self, body: Expr, emitted: str) -> None:
        """GhcmError where the body calls what Spark hands to Python."""
        for part in walk(body):
            if not isinstance(part, Call):
                continue
            reads = part.function in _JSON
            if reads or (part.function == "to_string" and isinstance(strip(part.arguments[0].type), Float)):
                raise self._refusal(f'"{part.function}"' if reads else '"to_string" of a float')
        if 'zone="' in emitted:  # a quotation mark inside of a text has a backslash before it
            raise self._refusal("a time zone")

    def _refusal(self, what: str) -> GhcmError:
        return GhcmError(
            f"{what} cannot stand in {self.name} on Spark",
            code="GHCM-525",
            detail="Spark calls Python for it, and does not do that for each value.",
            hint=self.hint,
        )


OF_ITEMS = SqlLambda(
    "a function of the items of a list", "flat_map(...) makes records of the items, and map(...) computes it for each."
)
OF_VALUES = SqlLambda("a reduce_by_key of your own", "map_values(...) before it computes what it needs for each value.")


_JSON = frozenset(each.name for each in FAMILIES["json"])


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
            case Call():
                return EMITTED[expr.function](self, expr)
            case If(condition=condition, then=then, otherwise=otherwise):
                return f"if_else({self.emit(condition)}, {self.emit(then)}, {self.emit(otherwise)})"
            case MakeStruct(values=values, type=type_):
                return self._struct([self.emit(value) for value in values], type_)
            case MakeList(items=items, type=type_):
                return self.call("make_list", self.schemas.text(type_, self.hint), *map(self.emit, items))
            case ForEach(kind=kind, list=of, item=item, body=body):
                inside = self._inside("item", item, body)
                OF_ITEMS.check(body, inside)
                return self.call(f"{kind.value}_items", self.emit(of), inside)
            case Let(variable=variable, value=value, body=body):
                return self.call("let", self.emit(value), self._inside("let", variable, body))
            case Try(body=body):
                return self.call("attempt", self.emit(body))
            case _:
                assert_never(expr)

    def call(self, name: str, *arguments: str) -> str:
        """The text of a call."""
        return f"{name}({', '.join(arguments)})"

    def type(self, type_: Type) -> str:
        """A type as the job writes it."""
        return self.schemas.text(type_, self.hint)

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
            case String() | Enumeration():
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
