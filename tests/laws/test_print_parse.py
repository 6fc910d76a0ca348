"""Text and tree are two forms of one program; formatting keeps what a person wrote and settles at once."""

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghcm.language import ast
from ghcm.language.parser import parse, parse_expr
from ghcm.language.printing.expressions import flat
from ghcm.language.printing.printer import format_text, print_program
from ghcm.language.tokens import raw_tokens
from ghcm.source import Source
from tests.campaigns import times
from tests.laws.programs_ast import exprs, programs

_slowly = settings(deadline=None, max_examples=times(70), suppress_health_check=[HealthCheck.too_slow])


@given(exprs)
@_slowly
def test_an_expression_survives_its_text(expr: ast.Expr) -> None:
    assert parse_expr(Source("printed", flat(expr))) == expr


@given(programs)
@_slowly
def test_a_program_survives_its_text(program: ast.Program) -> None:
    text = print_program(program)
    again = parse(Source("printed", text))
    assert again == program
    assert print_program(again) == text


@given(programs)
@_slowly
def test_canonical_text_is_left_alone(program: ast.Program) -> None:
    text = print_program(program)
    assert format_text(text) == text


def _comments(text: str) -> Counter[str]:
    return Counter(token.rstrip() for token in raw_tokens(Source("text", text)) if token.type == "COMMENT")


@st.composite
def _commented(draw: st.DrawFn) -> str:
    """A program with comments and empty lines wherever a line ends."""
    lines = print_program(draw(programs)).split("\n")
    marks = draw(st.lists(st.integers(0, 5), min_size=len(lines), max_size=len(lines)))
    found: list[str] = []
    for number, (line, mark) in enumerate(zip(lines, marks, strict=True)):
        found += {0: [f"# above {number}"], 1: ["", f"    # apart {number}", "", ""]}.get(mark, [])
        found.append(f"{line} # behind {number}" if mark == 2 else line)
    return "\n".join(found)


@given(_commented())
@_slowly
def test_formatting_loses_no_comment_and_settles(text: str) -> None:
    formatted = format_text(text)
    assert _comments(formatted) == _comments(text)
    assert parse(Source("formatted", formatted)) == parse(Source("text", text))
    assert format_text(formatted) == formatted
