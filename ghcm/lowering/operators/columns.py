"""Joins that are written over the names of fields: `on = l_part == p_part`, `on = user`, `on = (user, day)`.

Such a name belongs to one side. What is joined so is a record of the fields of both; names that stand alone are fields
of both sides, which are equal, and one field of the result. Functions, `(l, r) => ...`, are the form for all else.
"""

from collections.abc import Sequence

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Call, Expr, Get, Lambda, MakeStruct, Var, fresh
from ghcm.functions import FUNCTIONS, resolve
from ghcm.language import ast, trees
from ghcm.lowering.drafts import Step
from ghcm.lowering.expressions.functions import check_apart, condition, over_names
from ghcm.spg.joining import JoinKind
from ghcm.types import Field, Struct, Type, nullable_like, strip


def condition_of(step: Step, written: ast.Expr, left: Type, right: Type) -> tuple[Lambda, tuple[str, ...]]:
    """What belongs together, of an `on` that is no function, and the fields that are one in the result."""
    if not isinstance(left, Struct) or not isinstance(right, Struct):
        hint = "(l, r) => l == r.id compares such values."
        message = '"on" over names is of records with fields on both sides'
        raise step.report(Code.BAD_JOIN, message, written.span, hint=hint)
    check_apart(written, (left, right), step.scope)
    one = Var(fresh("left", step.scope.taken), left)
    other = Var(fresh("right", step.scope.taken), right)
    if alone := _alone(written):
        _check_shared(step, alone, left, right)
        return _equalities(step, alone, one, other), tuple(each.name for each in alone)
    names: dict[str, Expr | None] = {}
    for side in (one, other):
        assert isinstance(side.type, Struct)
        names |= {each.name: Get(side, each.name, each.type) for each in side.type.fields}
    for part in trees.walk(written):
        if isinstance(part, ast.Ref) and left.get(part.name) and right.get(part.name):
            message = f'both sides have a field "{part.name}"'
            hint = f"(l, r) => l.{part.name} is the one of the left side; on = {part.name} alone joins by both."
            raise step.report(Code.BAD_JOIN, message, part.span, hint=hint)
    return over_names(written, (one, other), names, step.scope, '"on" of "join"', test=True), ()


def _alone(written: ast.Expr) -> Sequence[ast.Ref]:
    """The names that are all that is written."""
    items = written.items if isinstance(written, ast.TupleExpr) else (written,)
    names = [each for each in items if isinstance(each, ast.Ref)]
    return names if len(names) == len(items) else ()


def _check_shared(step: Step, names: Sequence[ast.Ref], left: Struct, right: Struct) -> None:
    for each in names:
        lacking = [side for side, record in (("left", left), ("right", right)) if record.get(each.name) is None]
        if lacking:
            message = (
                f'a name that stands alone is a field of both sides, and the {lacking[0]} one has no "{each.name}"'
            )
            record = left if lacking[0] == "left" else right
            hint = suggest(each.name, record.names) or f"on = {each.name} == ... compares it with another field."
            raise step.report(Code.FIELD_UNKNOWN, message, each.span, hint=hint)


def _equalities(step: Step, names: Sequence[ast.Ref], left: Var, right: Var) -> Lambda:
    test: Expr | None = None
    for name in names:
        sides = tuple(ast.Attribute(ast.Ref(each.name), name.name, name.span, span=name.span) for each in (left, right))
        equal = ast.Binary("==", *sides, span=name.span)
        scope = step.scope.binding({left.name: left, right.name: right})
        made = condition(equal, scope, '"on" of "join"')
        test = made if test is None else _both(test, made)
    assert test is not None, "something is written"
    return Lambda((left, right), test)


def _both(first: Expr, second: Expr) -> Expr:
    found = resolve(FUNCTIONS["and"], (first.type, second.type))
    assert found is not None, "conditions are bool"
    return Call("and", (first, second), found.result)


def beside_each_other(step: Step, left: Expr, right: Expr, shared: Sequence[str], kind: JoinKind) -> Expr:
    """One record of the fields of both; a shared one is that of the side that is there."""
    (mine, its) = (strip(left.type), strip(right.type))
    assert isinstance(mine, Struct) and isinstance(its, Struct), "what is joined are records"
    both = [name for name in mine.names if its.get(name) is not None and name not in shared]
    if both:
        message = f'both sides have a field "{both[0]}"'
        hint = f"as = (l, r) => {{ ...l, ...r.without({', '.join(both)}) }} chooses one."
        raise step.report(Code.FIELD_TWICE, message, step.given.span("on"), hint=hint)
    parts = {each.name: _part(left, each) for each in mine.fields}
    if kind is JoinKind.RIGHT:
        parts |= {each.name: _part(right, each) for each in its.fields if each.name in shared}
    if kind is JoinKind.FULL:
        parts |= {
            each.name: _either(parts[each.name], _part(right, each)) for each in its.fields if each.name in shared
        }
    parts |= {each.name: _part(right, each) for each in its.fields if each.name not in shared}
    fields = tuple(Field(name, each.type) for name, each in parts.items())
    return MakeStruct(tuple(parts.values()), Struct(fields))


def _part(of: Expr, field: Field) -> Expr:
    return Get(of, field.name, nullable_like(field.type, of.type))


def _either(one: Expr, other: Expr) -> Expr:
    """What is there of two fields that may both be null."""
    found = resolve(FUNCTIONS["coalesce"], (one.type, other.type))
    assert found is not None, "the two are equal, and of one type"
    return Call("coalesce", (one, other), found.result)
