"""Expressions as Polars, each with a mask of the records that fail.

What has no columnar form that gives exactly the language's values is refused with the reason (`Unsupported`); its
chain runs by rows. Masks follow the laziness of `if`, `and`, `or` and `coalesce`: a branch that is not taken cannot
fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from ghcm.codegen.native.column_functions import COLUMN_FUNCTIONS, refusal
from ghcm.codegen.native.column_items import Fields, attempt, for_each, let
from ghcm.codegen.native.column_text import AND, ATOM, Column, Unsupported, either, literal, typed, where
from ghcm.codegen.native.column_types import dtype_text
from ghcm.expr import Call, Expr, ForEach, Get, If, Let, Literal, MakeList, MakeStruct, Param, Try, Var
from ghcm.types import List, Map, Null, Struct, Type, is_nullable, strip


def guard(mask: Column | None) -> list[str]:
    """The lines that give the batch up if any record fails."""
    return [] if mask is None else [f"if columns.any_fails(frame, {mask.text}):", "    return None"]


@dataclass
class ColumnScope:
    """What the variables of a lambda are: columns of the frame, by name of the variable and field; `None` is the
    value itself.
    """

    fields: Fields = field(default_factory=Fields)
    parameters: set[str] = field(default_factory=set[str])
    kept: list[str] = field(default_factory=list[str])
    """Columns of the frame that hold values of `let`."""

    def bind(self, variable: Var, element_value: str = "value") -> None:
        """Let a variable stand for the record of the frame, or for its one column."""
        if isinstance(variable.type, Struct):
            for part in variable.type.fields:
                self.fields.columns[variable.name, part.name] = Column(f'pl.col("{part.name}")')
        self.fields.columns[variable.name, None] = Column(f'pl.col("{element_value}")')

    def bind_column(self, variable: Var, name: str) -> None:
        """Let a variable stand for one column, whatever its type."""
        self.fields = Fields(self.fields.without(variable.name))
        self.fields.columns[variable.name, None] = Column(f'pl.col("{name}")')

    def value(self, expr: Expr) -> Column:
        """The column of an expression; `Unsupported` where there is none."""
        match expr:
            case Literal(value=value, type=type_):
                return literal(value, type_)
            case Var(name=name):
                return self.fields.whole(name)
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
            case ForEach():
                return for_each(self, expr)
            case Let():
                return let(self, expr)
            case Try(body=body):
                return attempt(self, body)
            case _:
                assert_never(expr)

    def within(self, fields: Fields) -> ColumnScope:
        """The scope in which names stand for something else."""
        return ColumnScope(fields, self.parameters)

    def opened(self, expr: Expr, lines: list[str]) -> Expr:
        """The body inside all `Let` that stand around it, whose values become columns by lines added here."""
        while isinstance(expr, Let):
            value = self.value(expr.value)
            column = f"={len(self.kept)} {expr.variable.name}"
            lines += guard(value.fails)
            lines.append(f'frame = frame.with_columns({value.at(ATOM)}.alias("{column}"))')
            self.kept.append(column)
            self.bind_column(expr.variable, column)
            expr = expr.body
        return expr

    def _parameter(self, name: str, type_: Type) -> Column:
        self.parameters.add(name)
        return typed(f'parameters["{name}"]', type_)

    def _get(self, expr: Get) -> Column:
        if isinstance(expr.of, Var) and (found := self.fields.columns.get((expr.of.name, expr.field))):
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
        whole = bool(items) and all(isinstance(each, MakeStruct) for each in items)
        if isinstance(strip(type_.item), List | Map | Struct | Null) and not (isinstance(type_.item, Struct) and whole):
            raise Unsupported(f"a {type_} made in place: Polars joins lists where they would be nested")
        if not items:
            return Column(f"pl.lit([], dtype={dtype_text(type_)})")
        columns = [self.value(each) for each in items]
        text = f"pl.concat_list({', '.join(column.text for column in columns)})"
        return Column(text, fails=either(*(column.fails for column in columns)))
