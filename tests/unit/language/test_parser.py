import pytest

from ghcm.errors import ProgramError
from ghcm.language import ast
from ghcm.language.parser import parse, parse_expr
from ghcm.language.printing.expressions import flat
from ghcm.source import Source, Span
from tests.unit.language.traffic import TEXT


def expr(text: str) -> ast.Expr:
    return parse_expr(Source("expr", text))


def body(*lines: str) -> tuple[ast.Statement, ...]:
    text = "\n".join(["program p", "stream u {", *lines, "}"])
    unit = parse(Source("body", text)).declarations[0]
    assert isinstance(unit, ast.UnitDecl)
    return unit.body


def grouped(node: ast.Expr) -> str:
    """The expression with every operation in parentheses."""
    match node:
        case ast.Binary(op=op, left=left, right=right):
            return f"({grouped(left)} {op} {grouped(right)})"
        case ast.Unary(op=op, operand=operand):
            return f"({op} {grouped(operand)})"
        case ast.IsNull(operand=operand):
            return f"({grouped(operand)} is null)"
        case _:
            return flat(node)


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("a or b and not c", "(a or (b and (not c)))"),
        ("not a == b", "(not (a == b))"),
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("a - b - c", "((a - b) - c)"),
        ("a // b % c / d", "(((a // b) % c) / d)"),
        ("-a.b * c", "((- a.b) * c)"),
        ("a + b < c ?? d", "((a + b) < (c ?? d))"),
        ("a + b ?? c", "((a + b) ?? c)"),
        ("a ?? b is null and c", "(((a ?? b) is null) and c)"),
    ],
)
def test_precedence(text: str, means: str) -> None:
    assert grouped(expr(text)) == means


def test_parentheses_are_a_tuple_until_an_arrow_follows() -> None:
    assert isinstance(expr("(a, b)"), ast.TupleExpr)
    assert expr("(a, b) => a") == ast.Lambda((ast.Name("a"), ast.Name("b")), ast.Ref("a"))
    assert expr("(a) => a") == expr("a => a")
    assert expr("() => a") == ast.Lambda((), ast.Ref("a"))
    assert expr("((a))") == ast.Ref("a")


def test_claims_stand_before_a_lambda() -> None:
    claimed = expr("@associative @commutative (a, b) => f(a, b)")
    assert isinstance(claimed, ast.Lambda)
    assert claimed.claims == ("associative", "commutative")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("500us", 500),
        ("10ms", 10_000),
        ("1.5s", 1_500_000),
        ("5m", 300_000_000),
        ("2h", 7_200_000_000),
        ("1d", 86_400_000_000),
    ],
)
def test_durations_are_microseconds(text: str, value: int) -> None:
    found = expr(text)
    assert isinstance(found, ast.Literal)
    assert (found.value, str(found.type)) == (value, "duration")


def test_strings_take_either_quote_and_raw_strings_no_escapes() -> None:
    assert expr(r"'a\t\'b\''") == expr("\"a\\t'b'\"")
    assert expr(r'r"\d+"') == expr(r'"\\d+"')
    assert expr(r'"\u00e9\x41\U0001f600"') == expr('"éA😀"')


def test_the_least_int_can_be_written() -> None:
    assert grouped(expr("-9223372036854775808")) == "(- 9223372036854775808)"
    with pytest.raises(ProgramError, match="does not fit into 64 bits"):
        expr("9223372036854775808")


def test_a_statement_ends_with_its_line() -> None:
    assert len(body("a = b", "(c).to(d)")) == 2
    assert len(body("a = b; c = d;", "", "; e = f")) == 3


def test_a_statement_goes_on_where_it_cannot_end() -> None:
    chain = body("a = b.c(x => x)", "     # why", "     .d()", "", "     .e()")
    assert chain == body("a = b.c(x => x).d().e()")
    assert body("a =", "  b +", "  c", "  - d", "  ?? e") == body("a = b + c - d ?? e")
    assert body("a = b(", "  c,", "", "  d,", ")") == body("a = b(c, d)")
    assert body("a = if x", " then y", " else z") == body("a = if x then y else z")


def test_words_of_declarations_are_names_elsewhere() -> None:
    assert expr("batch.stream(on = record, from = sink)") is not None
    program = parse(Source("p", "program program\nrecord cache {\n  from: int from 'x'\n  on: bool,\n  sink: string }"))
    record = program.declarations[0]
    assert isinstance(record, ast.RecordDecl)
    assert [field.name.text for field in record.fields] == ["from", "on", "sink"]


def test_a_result_type_ends_its_operand() -> None:
    statements = body('a = b.python("m:f", by = row) : map<string, list<int?>>', "  .count()")
    assert len(statements) == 1
    typed = expr('x => x.python("m:f") : decimal(10, 2)')
    assert isinstance(typed, ast.Lambda)
    with pytest.raises(ProgramError):
        expr('x.python("m:f") : int < 3')


def said(span: Span | None) -> str:
    return "" if span is None else span.source.text[span.start : span.end]


def test_spans_cover_what_was_written() -> None:
    found = expr("  flows .filter( (f, g) => (f.a + 1) * 2 ) # end")
    assert isinstance(found, ast.Apply)
    assert isinstance(found.function, ast.Attribute)
    assert said(found.span) == "flows .filter( (f, g) => (f.a + 1) * 2 )"
    assert said(found.function.name_span) == "filter"
    function = found.arguments[0].value
    assert isinstance(function, ast.Lambda)
    assert [said(name.span) for name in function.parameters] == ["f", "g"]
    assert said(function.body.span) == "(f.a + 1) * 2"


def test_every_node_of_the_example_has_a_place() -> None:
    program = parse(Source("traffic.istream", TEXT))
    assert said(program.declarations[0].span).startswith("record Flow {")
    assert said(program.declarations[0].span).endswith("}")
    assert [said(declaration.name.span) for declaration in program.declarations] == [
        declaration.name.text for declaration in program.declarations
    ]


def test_line_ends_of_other_systems_and_a_mark_at_the_start() -> None:
    assert parse(Source("p", "\ufeff" + TEXT.replace("\n", "\r\n"))) == parse(Source("p", TEXT))


def test_all_mistakes_come_at_once() -> None:
    text = (
        TEXT.replace("bytes: int", "bytes int")
        .replace("f.bytes > 0", "f.bytes = 0")
        .replace("h => h.value", "h -> h.value")
    )
    with pytest.raises(ProgramError) as caught:
        parse(Source("traffic.istream", text))
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["GHCM-100", "GHCM-109", "GHCM-107"]


def test_nesting_of_any_depth_is_no_crash() -> None:
    assert expr("(" * 3000 + "a" + ")" * 3000) == ast.Ref("a")
    chain = "a" + ".b()" * 3000
    assert isinstance(expr(chain), ast.Apply)
