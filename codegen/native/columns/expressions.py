"""Expressions as Polars, each with a mask of the records that fail.

What has no columnar form that gives exactly the language's values is refused with the reason (`Unsupported`); its
chain runs by rows. Masks follow the laziness of `if`, `and`, `or` and `coalesce`: a branch that is not taken cannot
fail. The items of the lists that a lambda goes over are one frame, then lists again by length; what the lambda mentions
of the record around it is given to each item, in columns called `variable` or `variable.field`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from ghcm import expr
from ghcm.codegen.native.columns.functions import COLUMN_FUNCTIONS, refusal
from ghcm.codegen.native.columns.text import Column, Unsupported, dtype_text, either, literal, typed, where
from ghcm.codegen.native.rows.text import function_text
from ghcm.codegen.native.snippets import ATOM, BITAND
from ghcm.expr import mentions, walk
from ghcm.failing import can_fail
from ghcm.functions import FAMILIES
from ghcm.types import List, Map, Null, Struct, is_nullable, strip

_LONGEST = 4_000
"""Characters of the value of a `let` inside an expression, which is repeated where its name is mentioned."""

_EXACT = (
    {"add", "sub", "mul", "neg", "abs", "div", "floordiv", "mod", "quotient"}
    | {"to_int", "to_decimal", "to_float", "get", "list_sum", "map_at"}
    | {"int_to_ip", "ip_to_int", "ip_canonical", "is_private", "is_multicast"}
    | {each.name for each in FAMILIES["time"]}
)
"""The functions whose mask is true for failing records only; others may also send a record to the row form."""


Fields: TypeAlias = dict[tuple[str, str | None], Column]
"""What names stand for: the column of a variable's field; of `None` the value itself."""


def guard(mask: Column | None) -> list[str]:
    """The lines that give the batch up if any record fails."""
    return [] if mask is None else [f"if columns.any_fails(frame, {mask.text}):", "    return None"]


def frame_function(name: str, lines: Iterable[str], gives: str = "pl.DataFrame | None", *, further: str = "") -> str:
    """A function of a frame with these lines, and `further` arguments."""
    return function_text(f"{name}(frame: pl.DataFrame, parameters: Parameters{further}) -> {gives}", lines)


def columnar(make: Callable[[], list[str]]) -> tuple[list[str], list[str]]:
    """The functions of a columnar form, and why there is none where there is none."""
    try:
        return make(), []
    except Unsupported as reason:
        return [], [f"by rows only: {reason}"]


def selection(pairs: Iterable[tuple[str, Column]]) -> list[str]:
    """Columns under their new names, as arguments of `select`."""
    return [
        f'"{name}"' if column.text == f'pl.col("{name}")' else f'{column.at(ATOM)}.alias("{name}")'
        for name, column in pairs
    ]


@dataclass
class Ahead:
    """The columns that are computed ahead of an expression, in order."""

    columns: dict[str, Column] = field(default_factory=dict[str, Column])
    lets: int = 0

    def add(self, name: str, value: Column) -> Column:
        """The column of a value that is computed once."""
        self.lets += 1
        label = f"={self.lets} {name}"
        self.columns[label] = Column(value.text, value.level)
        return Column(f'pl.col("{label}")')


@dataclass
class ColumnScope:
    """What the variables of a lambda are: columns of the frame."""

    fields: Fields = field(default_factory=Fields)
    ahead: Ahead | None = None
    """What values of `let` are columns of; None where they cannot be any."""

    def bind(self, variable: expr.Var, element_value: str = "value") -> None:
        """Let a variable stand for the record of the frame, or for its one column."""
        if isinstance(variable.type, Struct):
            for part in variable.type.fields:
                self.fields[variable.name, part.name] = Column(f'pl.col("{part.name}")')
        self.fields[variable.name, None] = Column(f'pl.col("{element_value}")')

    def bind_column(self, variable: expr.Var, name: str) -> None:
        """Let a variable stand for one column, whatever its type."""
        self.fields = _without(self.fields, variable.name)
        self.fields[variable.name, None] = Column(f'pl.col("{name}")')

    def value(self, node: expr.Expr) -> Column:
        """The column of an expression; `Unsupported` where there is none."""
        match node:
            case expr.Literal(value=value, type=type_):
                return literal(value, type_)
            case expr.Var(name=name):
                return self._whole(name)
            case expr.Param(name=name, type=type_):
                return typed(f'parameters["{name}"]', type_)
            case expr.Get():
                return self._get(node)
            case expr.Call():
                if reason := refusal(node):
                    raise Unsupported(reason)
                return COLUMN_FUNCTIONS[node.function](self, node)
            case expr.If():
                return self._if(node)
            case expr.MakeStruct(values=values, type=Struct() as type_):
                return self._struct(values, type_)
            case expr.MakeList(items=items, type=List() as type_):
                return self._list(items, type_)
            case expr.MakeStruct() | expr.MakeList():
                raise Unsupported(f"a value of {node.type} made in place")
            case expr.ForEach():
                return for_each(self, node)
            case expr.Let():
                return let(self, node)
            case expr.Try(body=body):
                return attempt(self, body)
            case _:
                assert_never(node)

    def _whole(self, name: str) -> Column:
        """The value of a variable, made of its fields where it exists only in parts."""
        parts = [column for key, column in self.fields.items() if key[0] == name and key[1] is not None]
        return Column(f"pl.struct({', '.join(part.text for part in parts)})") if parts else self.fields[name, None]

    def _get(self, node: expr.Get) -> Column:
        if isinstance(node.of, expr.Var) and (found := self.fields.get((node.of.name, node.field))):
            return found
        of = self.value(node.of)
        return Column(f'{of.at(ATOM)}.struct.field("{node.field}")', fails=of.fails)

    def _if(self, node: expr.If) -> Column:
        condition, then, otherwise = self.value(node.condition), self.value(node.then), self.value(node.otherwise)
        text = f"pl.when({condition.text}).then({then.text}).otherwise({otherwise.text})"
        test = condition.at(BITAND)
        if is_nullable(node.condition.type):
            test = f"{condition.at(ATOM)}.fill_null(False)"
        inverse = f"~{test}" if test.startswith("(") or not test.startswith("~") else test[1:]
        fails = either(condition.fails, where(test, then.fails), where(inverse, otherwise.fails))
        return Column(text, fails=fails)

    def _struct(self, values: tuple[expr.Expr, ...], type_: Struct) -> Column:
        if not values:
            raise Unsupported("a struct without fields")
        columns = [self.value(each) for each in values]
        parts = selection(zip(type_.names, columns, strict=True))
        return Column(f"pl.struct({', '.join(parts)})", fails=either(*(column.fails for column in columns)))

    def _list(self, items: tuple[expr.Expr, ...], type_: List) -> Column:
        whole = bool(items) and all(isinstance(each, expr.MakeStruct) for each in items)
        if isinstance(strip(type_.item), List | Map | Struct | Null) and not (isinstance(type_.item, Struct) and whole):
            raise Unsupported(f"a {type_} made in place: Polars joins lists where they would be nested")
        if not items:
            return Column(f"pl.lit([], dtype={dtype_text(type_)})")
        columns = [self.value(each) for each in items]
        text = f"pl.concat_list({', '.join(column.text for column in columns)})"
        return Column(text, fails=either(*(column.fails for column in columns)))


def _without(fields: Fields, name: str) -> Fields:
    return {key: column for key, column in fields.items() if key[0] != name}


# --- lambdas over lists, let and try ----------------------------------------------------------------------------------


def for_each(scope: ColumnScope, node: expr.ForEach) -> Column:
    """The column of the lists, conditions or values."""
    items = scope.value(node.list)
    if "pl.col(" not in items.text:
        raise Unsupported("a list that is the same for every record")
    body, given = _inside(scope, node.item.name, node.body)
    around = f"[{', '.join(given)}]"
    head = f'{items.text}, {around}, "{node.item.name}"'
    fails = None
    if body.fails is not None:
        fails = Column(f"per_item.values({head}, {body.fails.text}, pl.Boolean).list.any()")
    return Column(_text(node, head, body), fails=either(items.fails, fails))


def _text(node: expr.ForEach, head: str, body: Column) -> str:
    values = f"per_item.values({head}, {body.text}, {dtype_text(node.body.type)})"
    match node.kind:
        case expr.Each.MAP:
            return values
        case expr.Each.FILTER:
            return f"per_item.chosen({head}, {body.text}, {dtype_text(node.item.type)})"
        case expr.Each.ANY | expr.Each.ALL if is_nullable(node.body.type):
            return f"per_item.{node.kind.value}_of({values})"
        case expr.Each.ANY | expr.Each.ALL:
            return f"{values}.list.{node.kind.value}()"
        case expr.Each.FOLD:
            raise Unsupported("a fold goes from item to item")
        case _:
            assert_never(node.kind)


def _inside(scope: ColumnScope, item: str, body: expr.Expr) -> tuple[Column, list[str]]:
    """The column of a body in a frame of its own, where a name is bound, and the columns that are given to it."""
    seen, given = _seen(scope, item, body)
    seen[item, None] = Column(f'pl.col("{item}")')
    return ColumnScope(seen).value(body), given


def _seen(scope: ColumnScope, item: str, body: expr.Expr) -> tuple[Fields, list[str]]:
    """What the names around a body stand for inside of it, and the columns that are given to it."""
    seen, given = Fields(), dict[str, str]()
    for name, part in _mentioned(scope, item, body):
        label = name if part is None else f"{name}.{part}"
        if label == item:
            raise Unsupported(f'"{label}" is bound twice')
        text = scope.fields[name, part].at(ATOM)
        given[label] = text if text == f'pl.col("{label}")' else f'{text}.alias("{label}")'
        seen[name, part] = Column(f'pl.col("{label}")')
    return seen, list(given.values())


def _mentioned(scope: ColumnScope, item: str, body: expr.Expr) -> Iterator[tuple[str, str | None]]:
    """The names and fields around a body that it mentions."""
    known = scope.fields
    for name in dict.fromkeys(key[0] for key in known if key[0] != item):
        found = list(mentions(body, name))
        parts = [part.field if isinstance(part, expr.Get) else None for part in found]
        if not found:
            continue
        if all(part is not None and (name, part) in known for part in parts):
            yield from ((name, part) for part in dict.fromkeys(parts))
        else:
            fields = [key for key in known if key[0] == name and key[1] is not None]
            yield from fields or [(name, None)]


def let(scope: ColumnScope, node: expr.Let) -> Column:
    """The body with the value as a column ahead; where there can be none, wherever its name stands. Where that is
    several times, it is computed once for all of them, as Polars would compute it for each.
    """
    value = scope.value(node.value)
    if scope.ahead is not None:
        fields = _without(scope.fields, node.variable.name)
        fields[node.variable.name, None] = scope.ahead.add(node.variable.name, value)
        body = ColumnScope(fields, scope.ahead).value(node.body)
        return Column(body.text, body.level, either(value.fails, body.fails), body.bare)
    computed = "pl.col(" in value.text and "(" in value.text.removeprefix("pl.col(")
    if computed and len(list(mentions(node.body, node.variable.name))) > 1:
        return _let_once(scope, node, value)
    if len(value.text) > _LONGEST:
        raise Unsupported(f'the value of "{node.variable.name}" is too long to be repeated')
    fields = _without(scope.fields, node.variable.name)
    fields[node.variable.name, None] = Column(value.text, value.level, None, value.bare)
    body = ColumnScope(fields).value(node.body)
    return Column(body.text, body.level, either(value.fails, body.fails), body.bare)


def _let_once(scope: ColumnScope, node: expr.Let, value: Column) -> Column:
    body, given = _inside(scope, node.variable.name, node.body)
    head = f'{value.text}, [{", ".join(given)}], "{node.variable.name}"'
    fails = None if body.fails is None else Column(f"per_item.bound({head}, {body.fails.text}, pl.Boolean)")
    text = f"per_item.bound({head}, {body.text}, {dtype_text(node.type)})"
    return Column(text, fails=either(value.fails, fails))


def attempt(scope: ColumnScope, body: expr.Expr) -> Column:
    """The value, null where its mask is true."""
    value = scope.value(body)
    if value.fails is None:
        return value
    for part in walk(body):
        if isinstance(part, expr.ForEach | expr.Let | expr.Try):
            raise Unsupported("try of more than calls")
        if isinstance(part, expr.Call) and not _is_exact(scope, part):
            raise Unsupported(f"try of {part.function}: the columnar form knows its failing records only roughly")
    return Column(f"pl.when({value.fails.text}).then(None).otherwise({value.text})")


def _is_exact(scope: ColumnScope, call: expr.Call) -> bool:
    return call.function in _EXACT if can_fail(call) else scope.value(call).fails is None
