"""What the text form of expressions leaves out: types that follow from the parts, and what names stand for."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ghcm import types
from ghcm.expr import Call, Each, Expr, ForEach, Get, If, Let, Literal, MakeList, MakeStruct, Param, Try, Var
from ghcm.functions import FUNCTIONS, resolve
from ghcm.spg.notation.types import is_written_as_tuple, print_type
from ghcm.types import Struct, Type, as_nullable, nullable_like, strip


@dataclass(frozen=True, slots=True)
class Scope:
    """What names stand for: records' aliases by their texts and back, the unit's parameters, the lambda's variables."""

    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    types: Mapping[str, Type] = field(default_factory=dict[str, Type])
    parameters: Mapping[str, Type] = field(default_factory=dict[str, Type])
    variables: Mapping[str, Type] = field(default_factory=dict[str, Type])

    def inside(self, parameters: Sequence[Var]) -> Scope:
        """The scope of the body of a lambda."""
        return dataclasses.replace(self, variables={each.name: each.type for each in parameters})

    def binding(self, variable: Var) -> Scope:
        """The scope in which a name is bound as well."""
        return dataclasses.replace(self, variables={**self.variables, variable.name: variable.type})


_LITERALS: dict[type, Type] = {
    type(None): types.Null(), bool: types.Bool(), int: types.Int(), float: types.Float(), str: types.String()
}  # fmt: skip


def natural(expr: Expr, scope: Scope) -> Type | None:
    """The type that follows from the parts of an expression, or None."""
    match expr:
        case Literal(value=value):
            return None if isinstance(value, float) and not math.isfinite(value) else _LITERALS.get(type(value))
        case Var(name=name):
            return scope.variables.get(name)
        case Param(name=name):
            return scope.parameters.get(name)
        case Get(of=of, field=name):
            struct = strip(of.type)
            found = struct.get(name) if isinstance(struct, Struct) else None
            return None if found is None else nullable_like(found.type, of.type)
        case Call(function=name, arguments=arguments):
            function = FUNCTIONS.get(name)
            resolution = resolve(function, tuple(each.type for each in arguments)) if function and arguments else None
            return resolution.result if resolution else None
        case If(then=then):
            return then.type
        case MakeStruct(values=values, type=type_):
            if isinstance(type_, Struct) and print_type(type_) in scope.texts and len(values) == len(type_.fields):
                return type_
            names = type_.names if isinstance(type_, Struct) and not is_written_as_tuple(type_) else None
            return types.tuple_of(*(each.type for each in values)) if names is None else struct_of(names, values)
        case MakeList(items=items):
            return types.List(items[0].type) if items else None
        case ForEach():
            return _of_each(expr)
        case Let(body=body):
            return body.type
        case Try(body=body):
            return as_nullable(body.type)


def _of_each(expr: ForEach) -> Type:
    match expr.kind:
        case Each.MAP:
            made: Type = types.List(expr.body.type)
        case Each.FILTER:
            made = strip(expr.list.type)
        case Each.ANY | Each.ALL:
            made = nullable_like(types.Bool(), expr.body.type)
        case Each.FOLD:
            pair = strip(expr.list.type)
            if not isinstance(pair, Struct) or len(pair.fields) != 2:
                return expr.body.type
            return nullable_like(pair.fields[0].type, pair.fields[1].type)
    return nullable_like(made, expr.list.type)


def struct_of(names: tuple[str, ...], values: tuple[Expr, ...]) -> Struct:
    """The record without a name that is made of these values."""
    return Struct(tuple(types.Field(name, value.type) for name, value in zip(names, values, strict=True)))
