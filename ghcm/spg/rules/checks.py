"""What the rules of operations are made of: whether expressions keep to their types (variables, fields, signatures of
functions, values of literals), a task with its surroundings, and comparisons of collections.

Reads the types that stand on the nodes; it infers nothing and evaluates nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal as Number
from typing import assert_never, cast

from ghcm import expr, types
from ghcm.functions import FUNCTIONS, comparable, resolve
from ghcm.spg.ops import Op
from ghcm.types import INT_MAX, INT_MIN, Collection, Shape, Struct, Type, as_nullable, is_nullable, nullable_like, strip
from ghcm.unification import accepts


def lambda_problems(
    function: expr.Lambda, arguments: tuple[Type, ...], parameters: Mapping[str, Type]
) -> Iterator[str]:
    """What is wrong with a lambda that is given values of these types; `parameters` are the unit's."""
    if len(function.parameters) != len(arguments):
        yield f"a function of {len(function.parameters)} parameters is given {len(arguments)} values"
        return
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        if not accepts(parameter.type, argument):
            yield f'"{parameter.name}" is "{parameter.type}", but is given "{argument}"'
    yield from expr_problems(function.body, {each.name: each.type for each in function.parameters}, parameters)


def expr_problems(node: expr.Expr, variables: Mapping[str, Type], parameters: Mapping[str, Type]) -> Iterator[str]:
    """What is wrong with an expression, parts before wholes."""
    match node:
        case expr.ForEach(list=of, item=bound, body=body) | expr.Let(value=of, variable=bound, body=body):
            yield from expr_problems(of, variables, parameters)
            yield from expr_problems(body, {**variables, bound.name: bound.type}, parameters)
        case _:  # the others bind no name
            for part in expr.children(node):
                yield from expr_problems(part, variables, parameters)
    if problem := _problem(node, variables, parameters):
        yield problem


def _problem(node: expr.Expr, variables: Mapping[str, Type], parameters: Mapping[str, Type]) -> str:
    match node:
        case expr.Literal(value=value, type=type_):
            return "" if is_value(value, type_) else f'{value!r} is no value of "{type_}"'
        case expr.Var(name=name, type=type_):
            return _differs("variable", name, variables.get(name), type_)
        case expr.Param(name=name, type=type_):
            return _differs("parameter", name, parameters.get(name), type_)
        case expr.Get():
            return _get(node)
        case expr.Call():
            return _call(node)
        case expr.If(condition=condition, then=then, otherwise=otherwise, type=type_):
            if strip(condition.type) != types.Bool():
                return f'a condition is "{condition.type}"'
            return _misfit((type_, then), (type_, otherwise))
        case expr.MakeStruct(values=values, type=type_):
            if not isinstance(type_, Struct) or len(type_.fields) != len(values):
                return f'{len(values)} values do not make "{type_}"'
            return _misfit(*zip((field.type for field in type_.fields), values, strict=True))
        case expr.MakeList(items=items, type=type_):
            if not isinstance(type_, types.List):
                return f'a list is "{type_}"'
            return _misfit(*((type_.item, item) for item in items))
        case expr.ForEach():
            return _for_each(node)
        case expr.Let(variable=variable, value=value, body=body, type=type_):
            other = "" if type_ == body.type else f'a let is "{type_}" and its body "{body.type}"'
            return _misfit((variable.type, value)) or other
        case expr.Try(body=body, type=type_):
            return "" if type_ == as_nullable(body.type) else f'what is tried is "{body.type}", not "{type_}"'
        case _:
            assert_never(node)


def _for_each(node: expr.ForEach) -> str:
    if node.kind is expr.Each.FOLD:
        return _fold(node)
    of, type_ = strip(node.list.type), strip(node.type)
    if not isinstance(of, types.List) or of.item != node.item.type:
        return f'an item of "{of}" is no "{node.item.type}"'
    if node.kind is not expr.Each.MAP and strip(node.body.type) != types.Bool():
        return f'a condition is "{node.body.type}"'
    match node.kind:
        case expr.Each.MAP:
            fits, nullable = type_ == types.List(node.body.type), is_nullable(node.list.type)
        case expr.Each.FILTER:
            fits, nullable = isinstance(type_, types.List) and accepts(of.item, type_.item), is_nullable(node.list.type)
        case expr.Each.ANY | expr.Each.ALL:
            fits, nullable = type_ == types.Bool(), is_nullable(node.list.type) or is_nullable(node.body.type)
        case _:
            assert_never(node.kind)
    return "" if fits and nullable == is_nullable(node.type) else f'"{node.kind.value}" does not give "{node.type}"'


def _fold(node: expr.ForEach) -> str:
    match strip(node.list.type):
        case Struct(fields=(first, types.Field(type=several))) if isinstance(items := strip(several), types.List):
            if node.item.type != types.tuple_of(first.type, items.item):
                return f'an item of "{items}" beside "{first.type}" is no "{node.item.type}"'
            given = nullable_like(first.type, several)
            other = "" if node.type == given else f'"fold" does not give "{node.type}"'
            return _misfit((first.type, node.body)) or other
        case _:  # no pair of a value and a list
            return f'"fold" goes through no "{node.list.type}"'


def _misfit(*parts: tuple[Type, expr.Expr]) -> str:
    """The first expression that does not fit the type beside it."""
    misfits = ((wanted, found.type) for wanted, found in parts if not accepts(wanted, found.type))
    return next((f'"{found}" stands where "{wanted}" is asked for' for wanted, found in misfits), "")


def _differs(what: str, name: str, known: Type | None, found: Type) -> str:
    return "" if known == found else f'{what} "{name}" is "{known}", not "{found}"'


def _get(node: expr.Get) -> str:
    struct = strip(node.of.type)
    field = struct.get(node.field) if isinstance(struct, Struct) else None
    if field is None:
        return f'"{struct}" has no field "{node.field}"'
    return _differs("field", node.field, nullable_like(field.type, node.of.type), node.type)


def _call(call: expr.Call) -> str:
    function = FUNCTIONS.get(call.function)
    if function is None:
        return f'there is no function "{call.function}"'
    given = tuple(each.type for each in call.arguments)
    resolution = resolve(function, given) if given else None
    shown = ", ".join(map(str, given))
    whole = call.function == "to_float" and isinstance(strip(given[0]), types.Int | types.Int32)
    pairs = zip(resolution.parameters if resolution else (), given, strict=False)
    if resolution is None or not (whole or all(accepts(to, each) for to, each in pairs)):
        return f"{call.function} does not take ({shown})"
    if resolution.result != call.type:
        return f'{call.function} of ({shown}) is "{resolution.result}", not "{call.type}"'
    if not all(isinstance(call.arguments[index], expr.Literal) for index in function.constants if index < len(given)):
        return f"an argument of {call.function} is no constant"
    if function.bad_constant is None:
        return ""
    values = tuple(each.value if isinstance(each, expr.Literal) else None for each in call.arguments)
    bad = function.bad_constant(tuple(map(strip, given)), values)
    return f"a constant of {call.function} cannot be: {bad.reason}" if bad else ""


def is_value(value: object, type_: Type) -> bool:
    """Whether it is a canonical value of the type."""
    match type_:
        case types.Nullable(of=of):
            return value is None or is_value(value, of)
        case types.Null():
            return value is None
        case types.Bool():
            return isinstance(value, bool)
        case types.Int() | types.Timestamp() | types.Duration():
            return type(value) is int and INT_MIN <= value <= INT_MAX
        case types.Int32() | types.Date():
            return type(value) is int and -(2**31) <= value < 2**31
        case types.Float():
            return type(value) is float
        case types.Decimal(precision=precision, scale=scale):
            return isinstance(value, Number) and value.is_finite() and _fits(value, precision, scale)
        case types.String():
            return type(value) is str and not any("\ud800" <= char <= "\udfff" for char in value)
        case types.Enumeration(values=values):
            return value in values
        case types.Bytes():
            return type(value) is bytes
        case types.List(item=item):
            return type(value) is list and all(is_value(each, item) for each in cast("list[object]", value))
        case types.Map(key=key, value=held):
            if not isinstance(value, dict):
                return False
            pairs = cast("dict[object, object]", value).items()
            return all(is_value(name, key) and is_value(each, held) for name, each in pairs)
        case Struct(fields=fields):
            if not isinstance(value, tuple):
                return False
            parts = cast("tuple[object, ...]", value)
            return len(parts) == len(fields) and all(
                is_value(each, field.type) for each, field in zip(parts, fields, strict=True)
            )
        case _:
            assert_never(type_)


def _fits(value: Number, precision: int, scale: int) -> bool:
    _, digits, exponent = value.as_tuple()
    return isinstance(exponent, int) and -exponent <= scale and len(digits) + exponent <= precision - scale


@dataclass(frozen=True, slots=True)
class Around:
    """One task with what it takes and gives, the unit's parameters, and whether that is a batch unit."""

    op: Op
    takes: tuple[Collection, ...]
    gives: Collection
    parameters: Mapping[str, Type]
    batch: bool

    def of(self, function: expr.Lambda, *arguments: Type) -> Iterator[str]:
        """What is wrong with one of its functions."""
        return lambda_problems(function, arguments, self.parameters)


def collection_problems(found: Collection, wanted: Collection, *, narrowed: bool = False) -> Iterator[str]:
    """What differs; the element may be a `?` more general than derived, or with `narrowed` a `?` less."""
    for name in ("shape", "bounded", "timed", "windowed", "changing"):
        if getattr(found, name) != getattr(wanted, name):
            yield f"it gives {found}, where {name} is {getattr(found, name)} and should be {getattr(wanted, name)}"
    if not accepts(found.element, wanted.element) and not (narrowed and accepts(wanted.element, found.element)):
        yield f'its element is "{found.element}" and should be "{wanted.element}"'


def function_problems(around: Around, function: expr.Lambda, argument: Type, result: Type) -> Iterator[str]:
    """What is wrong with a function that should give that type, perhaps null."""
    yield from around.of(function, argument)
    if strip(function.body.type) != result:
        yield f'a function gives "{function.body.type}" and should give "{result}"'


def flowing(takes: Collection) -> Iterator[str]:
    """A complaint about a table."""
    if takes.shape is Shape.TABLE:
        yield "it does not take a table"


def keyed(takes: Collection) -> Iterator[str]:
    """A complaint about what is no pairs."""
    names = takes.element.names[:2] if isinstance(takes.element, Struct) else ()
    if takes.shape is Shape.STREAM or names != ("key", "value"):
        yield f"it takes pairs, not {takes}"


def pairs(found: Collection, wanted: Collection) -> Iterator[str]:
    """What differs, and a complaint about keys that cannot be compared."""
    yield from collection_problems(found, wanted)
    if isinstance(wanted.element, Struct) and not comparable(wanted.element.fields[0].type):
        yield f'"{wanted.element.fields[0].type}" cannot be a key'


def part(takes: Collection, name: str) -> Type:
    """The type of a column; of one that is missing, and was complained about, a stand-in."""
    field = takes.columns.get(name)
    return field.type if field is not None else types.Nullable(types.Bool())


def with_value(takes: Collection, value: Type) -> Type:
    """The element with another value."""
    fields = takes.columns.fields
    return Struct(tuple(replace(field, type=value) if field.name == "value" else field for field in fields))
