"""What is known not to be null behind a condition, and that it is true."""

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghcm.expr import Call, Expr, If, Literal, Var
from ghcm.lowering.narrowing import Outcome, known
from ghcm.types import Bool, Nullable, Type, is_nullable
from tests.unit.lowering.lowered import codes, element

ROW = "id: int, small: int32, name: {}, n: {}, flag: {}, score: float, inner: {}, at: timestamp"
INNER = "{a: int?, b: string}"


@pytest.mark.parametrize(
    ("predicate", "name", "n", "flag"),
    [
        ("r.name is not null", "string", "int?", "bool?"),
        ("not (r.name is null)", "string", "int?", "bool?"),
        ("r.name is not null and r.n is not null", "string", "int", "bool?"),
        ("r.name is not null or r.n is not null", "string?", "int?", "bool?"),
        ("not (r.name is null or r.n is null)", "string", "int", "bool?"),
        ("r.n > 3", "string?", "int", "bool?"),
        ("r.n > 3 or r.n < 1", "string?", "int", "bool?"),
        ('r.name.lower() == "a" and r.flag', "string", "int?", "bool"),
        ("not r.flag", "string?", "int?", "bool"),
        ("(r.n ?? 3) > 3", "string?", "int?", "bool?"),
        ("if r.name is null then false else r.n > 1", "string", "int", "bool?"),
        ("r.name is null", "string?", "int?", "bool?"),
    ],
)
def test_filter_narrows_what_is_behind_it(predicate: str, name: str, n: str, flag: str) -> None:
    assert element(f"filter(r => {predicate})") == ROW.format(name, n, flag, INNER + "?")


def test_filter_narrows_through_fields() -> None:
    found = element("filter(r => r.inner.a is not null)")
    assert found == ROW.format("string?", "int?", "bool?", "{a: int, b: string}")


def test_filter_narrows_scalars_and_pairs() -> None:
    assert element("map(r => r.name).filter(s => s is not null)") == "value: string"
    assert element("map_to_pair(r => (r.name, r.n)).filter(p => p.key is not null)") == "key: string, value: int?"


@pytest.mark.parametrize(
    "body",
    [
        'if r.name is not null then r.name else ""',
        'if r.name is null then "" else r.name',
        'if r.name is null or r.name == "a" then "" else r.name',
        'if r.name is not null and r.name.length() > 3 then r.name else ""',
        'match r.name { null => "", _ => r.name }',
        'match r.name { "a" => r.name, _ => "" }',
        'r.name ?? ""',
    ],
)
def test_a_branch_knows_what_its_condition_said(body: str) -> None:
    assert element(f"map(r => Out {{ name: {body} }})") == "name: string"


@pytest.mark.parametrize(
    "body",
    [
        'if r.name == "a" then "" else r.name',
        'if r.n > 3 and r.name is not null then "" else r.name',
        'if r.name is not null or r.n > 3 then r.name else ""',
        'match r.name { "a" => "", _ => r.name }',
    ],
)
def test_a_branch_knows_no_more_than_its_condition_said(body: str) -> None:
    unit = f'batch job {{ files("a.json").as(Row).map(r => Out {{ name: {body} }}).to(rows) }}'
    assert codes(unit) == ["GHCM-211"]


@pytest.mark.parametrize(
    ("kind", "left", "right", "key"),
    [
        ("inner", "string", "int", "string"),
        ("left", "string?", "int?", "string?"),
        ("right", "string?", "int?", "string?"),
        ("full", "string?", "int?", "string?"),
    ],
)
def test_the_side_that_may_be_missing_is_nullable(kind: str, left: str, right: str, key: str) -> None:
    on = f"join(data, on = (l, r) => l.name == r.name and l.id == r.n, kind = {kind})"
    assert element(f"{on}.map(j => (j.left.name, j.right.n))") == f"_1: {left}, _2: {right}"
    found = element(f"map_to_pair(r => (r.name, 1)).join(data.map_to_pair(r => (r.name, 2)), kind = {kind})")
    value = {"inner": "left: int, right: int", "left": "left: int, right: int?", "right": "left: int?, right: int"}
    assert found == f"key: {key}, value: {{{value.get(kind, 'left: int?, right: int?')}}}"


def test_semi_and_anti_joins_give_the_left_record() -> None:
    on = "join(data, on = (l, r) => l.name == r.name, kind = {})"
    assert element(on.format("semi")) == ROW.format("string", "int?", "bool?", INNER + "?")
    assert element(on.format("anti")) == ROW.format("string?", "int?", "bool?", INNER + "?")


def test_join_keys_are_not_null_behind_an_inner_join() -> None:
    found = element("join(data, on = (l, r) => l.name == r.name and l.id == r.n).map(j => (j.left.name, j.right.n))")
    assert found == "_1: string, _2: int"
    assert element("map_to_pair(r => (r.name, 1)).join(data.map_to_pair(r => (r.name, 2)))").startswith("key: string,")


# --- soundness: three-valued logic, executed -------------------------------------------------------------------------

NAMES = ("a", "b", "c")
MAYBE: Type = Nullable(Bool())
Values = Mapping[str, bool | None]


def call(function: str, *arguments: Expr) -> Expr:
    total = function in ("is_null", "is_not_null")
    nullable = not total and any(is_nullable(argument.type) for argument in arguments)
    return Call(function, arguments, MAYBE if nullable else Bool())


def conditions() -> st.SearchStrategy[Expr]:
    leaves = st.one_of(
        st.sampled_from([Var(name, MAYBE) for name in NAMES]), st.booleans().map(lambda value: Literal(value, Bool()))
    )

    def grow(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        return st.one_of(
            st.tuples(st.sampled_from(["and", "or", "eq"]), parts, parts).map(lambda t: call(*t)),
            st.tuples(st.sampled_from(["not", "is_null", "is_not_null"]), parts).map(lambda t: call(*t)),
            st.tuples(parts, parts, parts).map(lambda t: If(t[0], t[1], t[2], MAYBE)),
        )

    return st.recursive(leaves, grow, max_leaves=8)


def value(expr: Expr, values: Values) -> bool | None:
    match expr:
        case Var(name=name):
            return values[name]
        case Literal(value=bool(constant)):
            return constant
        case If(condition=condition, then=then, otherwise=otherwise):
            return value(then if value(condition, values) is True else otherwise, values)
        case Call(function=function, arguments=arguments):
            return logic(function, [value(argument, values) for argument in arguments])
        case _:
            raise AssertionError(expr)


def logic(function: str, of: list[bool | None]) -> bool | None:
    match function:
        case "is_null":
            return of[0] is None
        case "is_not_null":
            return of[0] is not None
        case "and":
            return False if False in of else None if None in of else True
        case "or":
            return True if True in of else None if None in of else False
        case "not":
            return None if of[0] is None else not of[0]
        case _:
            return None if None in of else of[0] == of[1]


CAME_OUT = {
    Outcome.TRUE: (True,),
    Outcome.FALSE: (False,),
    Outcome.NOT_TRUE: (False, None),
    Outcome.NOT_FALSE: (True, None),
}


@given(conditions(), st.sampled_from(Outcome))
def test_what_is_known_holds(condition: Expr, outcome: Outcome) -> None:
    facts = known(condition, outcome)
    for combination in itertools.product((True, False, None), repeat=len(NAMES)):
        values = dict(zip(NAMES, combination, strict=True))
        if value(condition, values) in CAME_OUT[outcome]:
            assert all(values[path[0]] is not None for path in facts)
