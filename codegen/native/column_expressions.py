"""Expressions as Polars, each with a mask of the records that fail.

What has no columnar form that gives exactly the language's values is refused with the reason (`Unsupported`); its
chain runs by rows. Masks follow the laziness of `if`, `and`, `or` and `coalesce`: a branch that is not taken cannot
fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from ghcm.codegen.native.column_functions import COLUMN_FUNCTIONS
from ghcm.codegen.native.column_support import refusal
from ghcm.codegen.native.column_text import AND, ATOM, Column, Unsupported, either, literal, typed, where
from ghcm.codegen.native.column_types import dtype_text
from ghcm.expr import Call, Expr, Get, If, Literal, MakeList, MakeStruct, Param, Var
from ghcm.types import List, Map, Null, Struct, Type, is_nullable, strip

__all__ = ["ColumnScope"]


@dataclass
class ColumnScope:
    """What the variables of a lambda are: columns of the frame, by name of the variable and field; `None` is the
    value itself.
    """

    fields: dict[tuple[str, str | None], Column] = field(default_factory=dict[tuple[str, str | None], Column])
    parameters: set[str] = field(default_factory=set[str])

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
                return literal(value, type_)
            case Var(name=name, type=type_):
                return self._variable(name, type_)
            case Param(name=name, type=type_):
                return self._parameter(name, type_)
            case Get():
                return self._get(expr)
            case Call():
                if reason := refusal(expr):
                    raise Unsupported(reason)
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
        return typed(f'parameters["{name}"]', type_)

    def _get(self, expr: Get) -> Column:
        if isinstance(expr.of, Var) and (found := self.fields.get((expr.of.name, expr.field))):
            return found
        of = self.value(expr.of)
        return Column(f'{of.at(ATOM)}.struct.field("{expr.field}")', fails=of.fails)

    def _if(self, expr: If) -> Column:
        condition, then, otherwise = self.value(expr.condition), self.value(expr.then), self.value(expr.otherwise)
        text = f"pl.when({condition.text}).then({then.text}).otherwise({otherwise.text})"
        test = condition.at(AND)
        if is_nullable(expr.condition.type):
            test = f"{condition.at(ATOM)}.fill_null(False)"
        inverse = f"~{test}" if test.startswith("(") or not test.startswith("~") else test[1:]
        fails = either(condition.fails, where(test, then.fails), where(inverse, otherwise.fails))
        return Column(text, fails=fails)

    def _struct(self, values: tuple[Expr, ...], type_: Struct) -> Column:
        if not values:
            raise Unsupported("a struct without fields")
        columns = [self.value(each) for each in values]
        parts = [f'{column.at(ATOM)}.alias("{part.name}")' for column, part in zip(columns, type_.fields, strict=True)]
        return Column(f"pl.struct({', '.join(parts)})", fails=either(*(column.fails for column in columns)))

    def _list(self, items: tuple[Expr, ...], type_: List) -> Column:
        if isinstance(strip(type_.item), List | Map | Struct | Null):
            raise Unsupported(f"a {type_} made in place: Polars joins lists where they would be nested")
        if not items:
            return Column(f"pl.lit([], dtype={dtype_text(type_)})")
        columns = [self.value(each) for each in items]
        text = f"pl.concat_list({', '.join(column.text for column in columns)})"
        return Column(text, fails=either(*(column.fails for column in columns)))
