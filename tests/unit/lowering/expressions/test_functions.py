"""Expressions that are deeper than can be followed: what is said of them, and that nobody fails over them."""

import pytest

from ghcm.editor.document import Document
from ghcm.editor.hover import hover
from ghcm.errors import ProgramError
from tests.unit.lowering.lowered import program

TERMS = " + ".join(["1"] * 260)
IFS = "if x > 0 then (" * 200 + "1" + ") else 2" * 200
LISTS = "list<" * 500 + "int" + ">" * 500
UNIT = "batch job { memory([{name: %s}]).to(rows) }"


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        (f"function f(x: int) : int = x + {TERMS}", 'the body of function "f"', "x + 1"),
        (f"function f(x: int) : int = {IFS}", 'the body of function "f"', "if x"),
        (f"responsive batch u(k: int = {TERMS}) {{ memory([{{n: 1}}]).reply() }}", 'the default of "k"', "1 + 1"),
        (UNIT % TERMS, "a row of memory", "{name"),
        (UNIT.replace(".to", ".as(Out).to") % TERMS, "a row of memory", "{name"),
        (
            f"batch job {{ generate(rows = 1, start = from_micros({TERMS})).to(rows) }}",
            '"start" of "generate"',
            "from_micros",
        ),
        (
            f"batch job {{ memory([{{a: 1}}]).key_by(r => r.a).aggregate_by_key(t = sum(a + {TERMS})).to(rows) }}",
            "an aggregate's argument",
            "a + 1",
        ),
    ],
    ids=["function", "if", "default", "row", "row of a record", "start", "aggregate"],
)
def test_what_is_too_deep_is_said_where_it_stands(text: str, what: str, where: str) -> None:
    with pytest.raises(ProgramError) as refused:
        program(text)
    (found,) = refused.value.diagnostics
    assert (found.code, found.message) == ("GHCM-226", f"{what} nests deeper than 100 levels")
    assert found.span is not None
    assert found.span.source.text[found.span.start :].startswith(where)


@pytest.mark.parametrize(
    "deep", [f"function f(x: int) : int = x + {TERMS}", f"record Deep {{ x: {LISTS} }}"], ids=["function", "record"]
)
def test_a_look_at_a_program_bears_what_is_too_deep(deep: str) -> None:
    document = Document("p.istream")
    document.change(f"program p\n{deep}\nstream u {{\n  kept = memory([1]).filter(n => n > 0)\n}}\n")
    hover(document, document.text.index("kept"))
