"""What is read of values, field by field, and expressions over values that lack what nobody reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ghcm.expr import Expr, ForEach, Get, Lambda, Let, Var, children, with_children
from ghcm.failing import can_fail
from ghcm.types import Struct, Type, as_nullable, is_nullable, nullable_like, strip


@dataclass(frozen=True, slots=True)
class Need:
    """What is read of a value: all of it, or some of its fields, perhaps none."""

    all: bool = False
    fields: Mapping[str, Need] = field(default_factory=dict[str, "Need"])

    def of(self, name: str) -> Need:
        """What is read of a field."""
        return ALL if self.all else self.fields.get(name, NOTHING)

    def __or__(self, other: Need) -> Need:
        if self.all or other.all:
            return ALL
        names = dict.fromkeys((*self.fields, *other.fields))
        return Need(fields={name: self.of(name) | other.of(name) for name in names})


NOTHING, ALL = Need(), Need(all=True)


def _path(names: Iterable[str]) -> Need:
    """All of what stands there."""
    need = ALL
    for name in reversed(tuple(names)):
        need = Need(fields={name: need})
    return need


def read_of(expr: Expr, name: str) -> Need:
    """What an expression reads of the variable of that name."""
    names: list[str] = []
    part = expr
    while isinstance(part, Get):
        names.append(part.field)
        part = part.of
    if isinstance(part, Var):
        return _path(reversed(names)) if part.name == name else NOTHING
    if isinstance(expr, ForEach | Let):
        bound = expr.item if isinstance(expr, ForEach) else expr.variable
        first = expr.list if isinstance(expr, ForEach) else expr.value
        return read_of(first, name) | (NOTHING if bound.name == name else read_of(expr.body, name))
    need = NOTHING
    for each in children(expr):
        need |= read_of(each, name)
    return need


def given_to(function: Lambda, at: int = 0) -> Need:
    """What a function reads of what it is given; all of it where a record may fail, whose dead letter holds it."""
    return read_of(function.body, function.parameters[at].name) if not can_fail(function.body) else ALL


def like(before: Type, made: Type) -> Type:
    """The fields of `made` as exactly as `before` had them: what a filter has shown not to be null, or what is said to
    be more general than it is.
    """
    if before == made:
        return before
    old, new = strip(before), strip(made)
    if not isinstance(old, Struct) or not isinstance(new, Struct):
        return before
    known = {field.name: field for field in old.fields}
    fields = tuple(replace(known[each.name], type=like(known[each.name].type, each.type)) for each in new.fields)
    kept = old if len(fields) == len(old.fields) and Struct(fields) == old else Struct(fields)
    return nullable_like(kept, before)


def retyped(function: Lambda, *takes: Type) -> Lambda:
    """The function over records that lack fields which it does not read."""
    pairs = zip(function.parameters, takes, strict=True)
    parameters = tuple(
        each if each.type == type_ else replace(each, type=like(each.type, type_)) for each, type_ in pairs
    )
    if parameters == function.parameters:
        return function
    return Lambda(parameters, _with_types(function.body, {each.name: each.type for each in parameters}))


def _with_types(expr: Expr, types: Mapping[str, Type]) -> Expr:
    match expr:
        case Var(name=name):
            return replace(expr, type=types[name]) if name in types and types[name] != expr.type else expr
        case ForEach(item=bound) | Let(variable=bound):
            first, body = children(expr)
            inner = {name: type_ for name, type_ in types.items() if name != bound.name}
            return with_children(expr, (_with_types(first, types), _with_types(body, inner)))
        case Get(of=of, field=name):
            changed = _with_types(of, types)
            if changed is of:
                return expr
            struct = strip(changed.type)
            assert isinstance(struct, Struct)
            type_ = struct.field_of(name).type
            return Get(changed, name, as_nullable(type_) if is_nullable(changed.type) else type_)
        case _:  # the others are made of such
            parts = tuple(_with_types(part, types) for part in children(expr))
            same = all(new is old for new, old in zip(parts, children(expr), strict=True))
            return expr if same else with_children(expr, parts)
