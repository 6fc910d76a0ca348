"""Types of expressions: what fits, what is converted, what a record literal becomes."""

import pytest

from ghcm.codes import Code
from ghcm.errors import Diagnostics, attempt
from ghcm.expr import Call, Expr, Get, If, Lambda, Literal, MakeStruct, Var
from ghcm.language import ast
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.expressions.conversion import common_type, convert
from ghcm.lowering.expressions.functions import lambda_of
from ghcm.lowering.expressions.typed import typed
from ghcm.lowering.types import Records
from ghcm.spg.connectors import Memory
from ghcm.spg.ops import Map, Source
from ghcm.types import Bool, Float, Int, Int32, List, Null, Nullable, String, Struct, Type, tuple_of
from tests.unit.lowering.lowered import codes, element, program, task


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        ("r.id + 1", "int"),
        ("r.id + 1.5", "float"),
        ("r.small + r.small", "int"),
        ("r.id / 2", "float"),
        ("r.id // 2", "int"),
        ("r.small * r.score", "float"),
        ("r.n + 1", "int?"),
        ("r.n ?? 1", "int"),
        ("r.n ?? 1.5", "float"),
        ('r.name == "a"', "bool?"),
        ("r.n > 1 and r.id > 1", "bool?"),
        ("r.n is null", "bool"),
        ("-r.id", "int"),
        ("r.at - r.at", "duration"),
        ("r.at + 10s", "timestamp"),
        ("r.inner.b", "string?"),
        ("max(r.id, 1.5)", "float"),
        ("(r.id, r.name)", "(int, string?)"),
        ("[1, 2.5]", "list<float>"),
        ("[1, null]", "list<int?>"),
        ("if r.id > 1 then r.id else null", "int?"),
        ('if r.id > 1 then split("a", "b") else []', "list<string>"),
        ("match r.id { 1 => 1, 2 => 2.5, _ => null }", "float?"),
        ("r.name.lower().length()", "int?"),
        ('split("a b", " ").get(0)', "string"),
        ("{ a: r.id, b: { c: r.name } }.b.c", "string?"),
    ],
)
def test_the_type_of_an_expression(body: str, type_: str) -> None:
    assert element(f"map(r => {{ x: {body} }})") == f"x: {type_}"


def test_conversions_are_calls() -> None:
    found = task("map(r => r.small * r.score)", "x").op
    assert isinstance(found, Map)
    row = found.function.parameters[0]
    widened = Call("widen", (Get(row, "small", Int32()),), Int())
    assert found.function.body == Call(
        "mul", (Call("to_float", (widened,), Float()), Get(row, "score", Float())), Float()
    )


def test_literals_take_the_type_that_is_asked_for() -> None:
    declared = "record Small { a: int32, b: float, c: string?, d: list<float> }\n"
    unit = (
        'batch job { memory([{a: 1, b: 2, c: null, d: [3, 4.5]}, {a: -1, b: 2.5, c: "x", d: []}]).as(Small).to(rows) }'
    )
    (source, _) = program(declared + unit).unit("job").tasks
    assert source.op == Source(Memory(((1, 2.0, None, [3.0, 4.5]), (-1, 2.5, "x", []))))


@pytest.mark.parametrize(
    ("found", "to", "made"),
    [
        (Int(), Int(), True),
        (Int32(), Float(), True),
        (Int(), Nullable(Float()), True),
        (Nullable(Int()), Nullable(Float()), True),
        (Nullable(Int()), Int(), False),
        (Float(), Int(), False),
        (Int(), Int32(), False),
        (List(Int()), List(Nullable(Int())), True),
        (List(Int()), List(Float()), False),
        (String(), Bool(), False),
        (Null(), Int(), False),
        (tuple_of(Int(), Int32()), tuple_of(Float(), Nullable(Int())), True),
        (Nullable(tuple_of(Int())), Nullable(tuple_of(Float())), True),
        (tuple_of(Nullable(Int())), tuple_of(Int()), False),
    ],
)
def test_what_converts_to_what(found: Type, to: Type, made: bool) -> None:
    assert (convert(Var("x", found), to) is not None) is made


def test_a_null_record_stays_null_when_its_fields_are_converted() -> None:
    before, after = Nullable(tuple_of(Int())), Nullable(tuple_of(Float()))
    made = convert(Var("x", before), after)
    assert isinstance(made, If)
    assert made.then == Literal(None, after)
    assert isinstance(made.otherwise, MakeStruct)


def test_an_empty_list_takes_the_type_of_the_others() -> None:
    from ghcm.expr import MakeList

    empty = MakeList((), List(Null()))
    assert common_type((empty, MakeList((Literal("a", String()),), List(String())))) == List(String())


def test_fields_of_a_record_literal_stand_in_the_order_of_the_record() -> None:
    declared = "record Two { a: int, b: string }\n"
    unit = 'batch job { files("a.json").as(Row).map(r => Two { b: "x", a: r.id }).named("made").to(rows) }'
    made = program(declared + unit).unit("job").task("made").op
    assert isinstance(made, Map)
    assert isinstance(made.function.body, MakeStruct)
    assert made.function.body.values[1] == Literal("x", String())


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("r.nothing", Code.NO_FIELD),
        ("r.id.nothing", Code.NO_FIELD),
        ("nothing(r.id)", Code.NO_FUNCTION),
        ("r.id + r.name", Code.BAD_OPERANDS),
        ("r.id and true", Code.NOT_BOOL),
        ("to_int(r.id, 2)", Code.BAD_OPERANDS),
        ("lower(s = r.name)", Code.BAD_OPERANDS),
        ("r => r", Code.BAD_LAMBDA),
        ("rows", Code.NOT_A_VALUE),
        ("lower", Code.NOT_A_VALUE),
        ("Out { }", Code.FIELD_MISSING),
        ("Nothing { a: 1 }", Code.UNKNOWN_NAME),
        ("sum(r.id)", Code.BAD_AGGREGATE),
    ],
)
def test_a_mistake_in_an_expression_is_one_message(body: str, code: Code) -> None:
    unit = f'batch job {{ files("a.json").as(Row).map(r => ({body}, r.nope.deeper)).filter(x => x.a > 1).to(rows) }}'
    assert codes(unit) == [code.value, Code.NO_FIELD.value]


def test_a_lambda_parameter_hides_an_outer_name_but_no_parameter_of_the_unit() -> None:
    diagnostics = Diagnostics()
    context = Context(diagnostics, Records({}, diagnostics), {}, typed)
    written = ast.Lambda((ast.Name("x"),), ast.Ref("x"))
    assert isinstance(lambda_of(written, (Int(),), Scope(context, collections=frozenset("x")), "it"), Lambda)
    parameters: dict[str, Expr | None] = {"x": Var("x", Int())}
    assert attempt(lambda_of, written, (Int(),), Scope(context, parameters=parameters), "it") is None
    assert [found.code for found in diagnostics] == [Code.RESERVED.value]


def test_records_of_records() -> None:
    declared = "record Leaf { a: int }\nrecord Tree { left: Leaf?, all: list<Leaf>, by: map<string, Leaf> }\n"
    unit = 'batch job { files("t.json").as(Tree).named("trees").to(rows) }'
    found = program(declared + unit).unit("job").task("trees").collection.element
    assert isinstance(found, Struct)
    assert [str(field.type) for field in found.fields] == ["Leaf?", "list<Leaf>", "map<string, Leaf>"]
