"""Expressions of the language as SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from ghcm.codegen.spark.functions import EMITTED
from ghcm.codegen.spark.sql import (
    Checked,
    attempt,
    calls_python,
    col,
    ddl,
    each_item,
    if_else,
    let,
    literal,
    make_list,
    make_struct,
    parameter,
    part_of,
)
from ghcm.codegen.spark.text import Schemas
from ghcm.errors import GhcmError
from ghcm.expr import Call, Expr, ForEach, Get, If, Lambda, Let, Literal, MakeList, MakeStruct, Param, Try, Var, walk
from ghcm.functions import FAMILIES
from ghcm.types import Float, List, Null, Struct, Type, is_nullable, strip


@dataclass(frozen=True, slots=True)
class Binding:
    """What a lambda's parameter is in SQL: the whole value, and one of its fields."""

    whole: Checked
    part: Callable[[str], Checked]


def columns_binding(whole: Checked) -> Binding:
    """A record that stands in the columns of a data frame."""
    return Binding(whole, col)


def value_binding(value: Checked) -> Binding:
    """A value that stands in one column or variable."""
    return Binding(value, lambda name: part_of(value, name))


@dataclass(frozen=True, slots=True)
class SqlLambda:
    """A function that Spark calls by itself for many values within one record, where it cannot call Python."""

    name: str
    hint: str

    def check(self, body: Expr, emitted: Checked) -> None:
        """GhcmError where the body calls what Spark hands to Python."""
        for each in walk(body):
            if not isinstance(each, Call):
                continue
            reads = each.function in _JSON
            if reads or (each.function == "to_string" and isinstance(strip(each.arguments[0].type), Float)):
                raise self._refusal(f'"{each.function}"' if reads else '"to_string" of a float')
        if calls_python(f"{emitted.value} {emitted.error}"):
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
    """Writes expressions; `bindings` say what the parameters of the lambda around them are."""

    schemas: Schemas
    bindings: Mapping[str, Binding]
    hint: str = "value"

    def body(self, function: Lambda, *bindings: Binding) -> Checked:
        """The body of a lambda with its parameters bound."""
        names = [parameter.name for parameter in function.parameters]
        return replace(self, bindings=dict(zip(names, bindings, strict=True))).emit(function.body)

    def emit(self, expr: Expr) -> Checked:
        """The expression as SQL."""
        checked = self._emit(expr)
        return checked if is_nullable(expr.type) or not checked.nullable else replace(checked, nullable=False)

    def _emit(self, expr: Expr) -> Checked:
        match expr:
            case Literal(value=value, type=type_):
                return literal(value, type_)
            case Var(name=name):
                return self.bindings[name].whole
            case Param(name=name):
                return parameter(name)
            case Get(of=Var(name=name), field=field) if name in self.bindings:
                return self.bindings[name].part(field)
            case Get(of=of, field=field):
                return part_of(self.emit(of), field)
            case Call():
                return EMITTED[expr.function](self, expr)
            case If(condition=condition, then=then, otherwise=otherwise):
                return if_else(self.emit(condition), self.emit(then), self.emit(otherwise))
            case MakeStruct(values=values, type=type_):
                struct = strip(type_)
                assert isinstance(struct, Struct)
                exact = all(_is(value, field.type) for value, field in zip(values, struct.fields, strict=True))
                return make_struct(struct, map(self.emit, values), exact=exact)
            case MakeList(items=items, type=type_):
                list_ = strip(type_)
                exact = isinstance(list_, List) and bool(items) and all(_is(item, list_.item) for item in items)
                return make_list(type_, map(self.emit, items), exact=exact)
            case ForEach(kind=kind, list=of, item=item, body=body):
                return each_item(_EACH[kind.value], self.emit(of), self._in_lambda(item, body), item.name)
            case Let(variable=variable, value=value, body=body):
                return let(self.emit(value), self._inside(variable, body), variable.name)
            case Try(body=body):
                return attempt(self.emit(body))
            case _:
                assert_never(expr)

    def json_function(self, kind: str, type_: Type) -> str:
        """The name of the Python function that reads or writes JSON texts of a type, which the job makes known."""
        return self.schemas.json_function(kind, type_, self.hint)

    def _inside(self, variable: Var, body: Expr) -> Callable[[Checked], Checked]:
        """The body in which a name is bound."""
        return lambda value: replace(self, bindings={**self.bindings, variable.name: value_binding(value)}).emit(body)

    def _in_lambda(self, item: Var, body: Expr) -> Callable[[Checked], Checked]:
        inside = self._inside(item, body)

        def checked(value: Checked) -> Checked:
            given = inside(value)
            OF_ITEMS.check(body, given)
            return given

        return checked


def _is(expr: Expr, type_: Type) -> bool:
    """Whether an expression is of a type as Spark knows it."""
    return ddl(expr.type) == ddl(type_) and not isinstance(expr.type, Null)


_EACH = {"map": "transform", "filter": "filter", "any": "exists", "all": "forall"}
