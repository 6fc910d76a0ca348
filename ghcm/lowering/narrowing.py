"""What is known not to be null where a condition has been decided: `filter`, `if`, `match`, `and`, `or`, join keys.

A path leads from a lambda's or unit's parameter through fields, as a tuple of names. The functions here read typed
expressions; they follow three-valued logic, in which `otherwise` is taken for false *and* for null.

What a union is known not to be is a path, too: its own and then `not` with the record's name.
"""

from dataclasses import replace
from enum import Enum
from typing import TypeAlias

from ghcm.expr import Call, Each, Expr, ForEach, Get, If, Let, Literal, MakeList, MakeStruct, Param, Try, Var
from ghcm.functions import FUNCTIONS, Nulls
from ghcm.types import Nullable, Struct, Type, Variant, is_nullable, narrowed_union, strip

Path: TypeAlias = tuple[str, ...]
Facts: TypeAlias = frozenset[Path]

NOTHING: Facts = frozenset()


class Outcome(Enum):
    """How a condition came out. The last two are what `else` and the right sides of `or` and `and` may rely on."""

    TRUE = "true"
    FALSE = "false"
    NOT_TRUE = "false or null"
    NOT_FALSE = "true or null"


_OPPOSITE = {
    Outcome.TRUE: Outcome.FALSE,
    Outcome.FALSE: Outcome.TRUE,
    Outcome.NOT_TRUE: Outcome.NOT_FALSE,
    Outcome.NOT_FALSE: Outcome.NOT_TRUE,
}
_CERTAIN = {Outcome.NOT_TRUE: Outcome.FALSE, Outcome.NOT_FALSE: Outcome.TRUE}


def path_of(expr: Expr) -> Path | None:
    """The path that an expression reads, or None where it computes something."""
    match expr:
        case Var(name=name):
            return (name,)
        case Param(name=name):
            return (f"${name}",)
        case Get(of=of, field=field):
            start = path_of(of)
            return None if start is None else (*start, field)
        case Call(function="known", arguments=(inner,)):
            return path_of(inner)
        case Literal() | Call() | If() | MakeStruct() | MakeList() | ForEach() | Let() | Try():
            return None


def to_known(expr: Expr) -> Expr:
    """The nullable expression as the value that it is known to be."""
    return Call("known", (expr,), strip(expr.type))


def known(condition: Expr, outcome: Outcome) -> Facts:
    """The paths that are not null where the condition came out so."""
    if not is_nullable(condition.type):
        outcome = _CERTAIN.get(outcome, outcome)
    match condition:
        case Call(function="is_null", arguments=(operand,)):
            return present(operand) if outcome is Outcome.FALSE else NOTHING
        case Call(function="is_not_null", arguments=(operand,)):
            return present(operand) if outcome is Outcome.TRUE else NOTHING
        case Call(function="not", arguments=(operand,)):
            return known(operand, _OPPOSITE[outcome])
        case Call(function="and", arguments=(left, right)):
            both = outcome in (Outcome.TRUE, Outcome.NOT_FALSE)
            return _combined(known(left, outcome), known(right, outcome), both)
        case Call(function="or", arguments=(left, right)):
            both = outcome in (Outcome.FALSE, Outcome.NOT_TRUE)
            return _combined(known(left, outcome), known(right, outcome), both)
        case If(condition=test, then=then, otherwise=otherwise):
            branches = ((then, Outcome.TRUE), (otherwise, Outcome.NOT_TRUE))
            ways = [known(test, taken) | known(branch, outcome) for branch, taken in branches if _can(branch, outcome)]
            return _in_all(ways)
        case Let(variable=variable, value=value, body=body):
            return _outside(known(body, outcome), variable, value)
        case Call(function="eq" | "ne" as name, arguments=(Get(of=of, field=field), Literal(value=value))) if (
            _tag_of(of) == field
        ):
            same = (name == "eq") is (outcome in (Outcome.TRUE, Outcome.NOT_FALSE))
            return _told(of, value, same) | (present(condition) if outcome in _CERTAIN.values() else NOTHING)
        case _:  # of other conditions only that they have come out
            return present(condition) if outcome in (Outcome.TRUE, Outcome.FALSE) else NOTHING


def _tag_of(expr: Expr) -> str:
    """The name of the field that says what a union is; none of other values."""
    struct = strip(expr.type)
    return struct.fields[0].name if isinstance(struct, Struct) and struct.variants else ""


def _told(of: Expr, text: object, same: bool) -> Facts:
    """What a union is known not to be where its tag is this text, or is another."""
    path, struct = path_of(of), strip(of.type)
    if path is None or not isinstance(struct, Struct):
        return NOTHING
    return frozenset((*path, f"not {each.name}") for each in struct.variants if (each.text == text) is not same)


def left_of(variants: tuple[Variant, ...], path: Path | None, facts: Facts) -> tuple[Variant, ...]:
    """The records that a union at a path may still be."""
    return variants if path is None else tuple(each for each in variants if (*path, f"not {each.name}") not in facts)


def _outside(facts: Facts, variable: Var, value: Expr) -> Facts:
    """What facts about the body of a `Let` say outside of it, where its variable has no name."""
    outer = path_of(value)
    mine = frozenset(path for path in facts if path[0] == variable.name)
    moved = frozenset((*outer, *path[1:]) for path in mine) if outer is not None else NOTHING
    return (facts - mine) | moved


def narrow(type_: Type, facts: Facts, root: str) -> Type:
    """The type of what `root` names, with the `?` taken away wherever the facts say so."""
    paths = [path[1:] for path in facts if path[0] == root]
    return _narrow(type_, paths)


def _narrow(type_: Type, paths: list[Path]) -> Type:
    if not paths:
        return type_
    if () in paths:
        type_ = strip(type_)
    inner = strip(type_)
    if not isinstance(inner, Struct):
        return type_
    if inner.variants:
        inner = narrowed_union(inner, left_of(inner.variants, (), frozenset(paths)))
    fields = tuple(
        replace(field, type=_narrow(field.type, [path[1:] for path in paths if path and path[0] == field.name]))
        for field in inner.fields
    )
    narrowed = inner if fields == inner.fields else replace(inner, fields=fields)
    return Nullable(narrowed) if isinstance(type_, Nullable) else narrowed


def _in_all(ways: list[Facts]) -> Facts:
    common = ways[0] if ways else NOTHING
    for way in ways[1:]:
        common &= way
    return common


def _can(branch: Expr, outcome: Outcome) -> bool:
    """Whether a branch can come out so: a constant comes out one way only."""
    if not isinstance(branch, Literal):
        return True
    match outcome:
        case Outcome.TRUE:
            return branch.value is True
        case Outcome.FALSE:
            return branch.value is False
        case Outcome.NOT_TRUE:
            return branch.value is not True
        case Outcome.NOT_FALSE:
            return branch.value is not False


def _combined(left: Facts, right: Facts, both: bool) -> Facts:
    return left | right if both else left & right


def present(expr: Expr) -> Facts:
    """The paths that are not null where the value of the expression is not."""
    path = path_of(expr)
    if path is not None:
        return frozenset(path[:length] for length in range(1, len(path) + 1))
    match expr:
        case Call(function=name, arguments=arguments) if FUNCTIONS[name].nulls is Nulls.PROPAGATE:
            return NOTHING.union(*map(present, arguments))
        case Get(of=of) | Try(body=of):
            return present(of)
        case ForEach(kind=kind, list=of):
            return present(of) if kind in (Each.MAP, Each.FILTER) else NOTHING
        case Let(variable=variable, value=value, body=body):
            return _outside(present(body), variable, value)
        case _:  # other values may come of null
            return NOTHING
