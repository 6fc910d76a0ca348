"""The optimiser keeps the meaning of generated programs, every pass leaves a sound graph, and every law is used."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghcm.optimizer.rules import RULES
from ghcm.optimizer.rules.eager import EAGER_RULES
from ghcm.spg.graph import Program
from tests.campaigns import times
from tests.laws.differential import problems
from tests.laws.optimising import keeps_its_meaning, laws_used
from tests.laws.rewritable import program_of
from tests.laws.spg_whole import Case
from tests.laws.spgs import CASES, operator_case, programs
from tests.laws.wrong_rules import WRONG, Wrong

COUNT = times(2_000)
SLOW_OR_LARGE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
NEVER_DECLINED = {
    "map(x => x) = nothing", "filter(true) = nothing", "distinct().distinct() = distinct()",
    "nothing.f() = nothing", "union(a, nothing) = a",
}  # fmt: skip
"""Laws of which nothing is asked but their shape."""


def test_small_programs_keep_their_meaning_and_use_every_law() -> None:
    applied, declined = laws_used([keeps_its_meaning(program_of(seed)) for seed in range(COUNT)])
    laws = {rule.law for rule in (*RULES, *EAGER_RULES)}
    assert {law for law in laws if applied[law] < 20} == set()
    assert {law for law in laws if not declined[law]} <= NEVER_DECLINED


def test_small_programs_do_the_same_on_the_native_engine() -> None:
    cases = [(seed, Case(program_of(seed))) for seed in range(times(300))]
    assert [(seed, said[:2]) for seed, case in cases if (said := problems(case))] == []


@settings(deadline=None, max_examples=times(80), suppress_health_check=SLOW_OR_LARGE)
@given(programs())
def test_generated_programs(program: Program) -> None:
    keeps_its_meaning(program)


@pytest.mark.parametrize("name", CASES)
@settings(deadline=None, max_examples=times(5), suppress_health_check=SLOW_OR_LARGE)
@given(data=st.data())
def test_each_operator(name: str, data: st.DataObject) -> None:
    keeps_its_meaning(data.draw(operator_case(name)))


@pytest.mark.parametrize("wrong", WRONG, ids=lambda each: each.name)
def test_wrong_rules_are_caught(wrong: Wrong) -> None:
    assert any(wrong.shows(program_of(seed)) for seed in range(COUNT))
