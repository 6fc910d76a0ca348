"""Reducers that may take values in any order: what forms prove holds for small values, and wrong claims are refuted."""

import pytest

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.reducers import Builtin, Custom, Fields, Reducer, prove
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.ops import ReduceByKey
from ghcm.verification.laws import counter_example, findings

BOTH = "@associative @commutative "


def program_of(value: str, reducer: str) -> Program:
    text = f"""program p
record R {{ n: int, m: int, s: string, x: float, b: bool }}
sink out = redis("out", key = p => p.key)
batch u {{
  files("in", format = json).as(R).map_to_pair(r => (r.s, {value})).reduce_by_key({reducer}).to(out)
}}
"""
    return lower(parse(Source("p.istream", text)))


def reducer_of(value: str, reducer: str) -> Reducer:
    (op,) = [task.op for task in program_of(value, reducer).units[0].tasks if isinstance(task.op, ReduceByKey)]
    return op.reducer


PROVEN = [
    ("r.n", "(a, b) => if a < b then a else b", Builtin),
    ("r.x", "(a, b) => if b <= a then a else b", Builtin),
    ("r.n", "(a, b) => min(min(b, a), b)", Builtin),
    ("r.s", "(a, b) => if not (a > b) then b else a", Builtin),
    ("r.b", "(a, b) => b or a or b", Builtin),
    ("{ n: r.n, s: r.s }", "(a, b) => { n: a.n + b.n, s: if a.s > b.s then a.s else b.s }", Fields),
    ("{ n: r.n, s: r.s }", "(a, b) => if (a.n, a.s) < (b.n, b.s) then b else a", Custom),
    ("{ n: r.n, s: r.s }", "(a, b) => if (b.s, b.n) > (a.s, a.n) then a else b", Custom),
]


@pytest.mark.parametrize(("value", "reducer", "kind"), PROVEN)
def test_what_is_proven_holds_for_small_values(value: str, reducer: str, kind: type) -> None:
    found = reducer_of(value, reducer)
    assert isinstance(found, kind)
    claimed = reducer_of("r.n", BOTH + "(a, b) => a - b")  # to see that the search looks at all
    assert isinstance(claimed, Custom) and counter_example(claimed.function)
    if isinstance(found, Custom):
        assert found.claimed and counter_example(found.function) == ""
    (said,) = findings(program_of(value, reducer))
    assert said.says.startswith("proven") and said.wrong == ""


@pytest.mark.parametrize(
    ("value", "reducer", "wrong"),
    [
        ("r.n", "(a, b) => a * b", "f(f(a, b), c) is 0, f(a, f(b, c)) is a failure"),
        ("r.n", "(a, b) => a", "f(a, b) is 0, f(b, a) is 1"),
        ("r.n", "(a, b) => if a > 1 then a else b", "f(a, b) is 1, f(b, a) is 0"),
        ("r.x", "(a, b) => (a + b) / 2.0", "f(f(a, b), c) is 0.75, f(a, f(b, c)) is 0.375"),
        ("{ n: r.n, s: r.s }", "(a, b) => if a.n < b.n then b else a", 'f(b, a) is {"n":0,"s":"a"}'),
    ],
)
def test_a_wrong_claim_is_not_proven_and_is_refuted_by_an_example(value: str, reducer: str, wrong: str) -> None:
    found = reducer_of(value, BOTH + reducer)
    assert isinstance(found, Custom) and prove(found.function) is None
    (said,) = findings(program_of(value, BOTH + reducer))
    assert said.says == "claimed, wrongly"
    assert wrong in said.wrong


def test_the_proof_is_what_the_forms_are() -> None:
    (said,) = findings(program_of("{ n: r.n, s: r.s }", PROVEN[-2][1]))
    assert said.says == (
        "proven: f(a, b) and f(b, a) are last by n, s(a, b); f(f(a, b), c) and f(a, f(b, c)) are last by n, s(a, b, c)"
    )
