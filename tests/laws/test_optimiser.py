"""The optimiser keeps the meaning of generated programs, and every pass leaves a sound graph."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghcm.optimizer import PASSES, Pass, broken_claims, optimise
from ghcm.spg.graph import Program
from ghcm.spg.reference import run
from ghcm.spg.verify import verify
from tests.campaigns import times
from tests.conformance.compare import differences
from tests.laws.spgs import CASES, operator_case, programs


def keeps_its_meaning(program: Program) -> None:
    seen: list[str] = []

    def sound(behind: Pass, changed: Program) -> None:
        seen.append(behind.name)
        assert verify(changed) == [], f"behind {behind.name}"
        assert list(broken_claims(behind, changed)) == [], f"behind {behind.name}"

    optimised = optimise(program, after_pass=sound).program
    assert seen == [each.name for each in PASSES]
    expected, found = run(program, "u"), run(optimised, "u")
    letters = [(each.task, each.reason.value, each.input) for each in found.dead]
    assert differences(program, expected, sinks=found.sinks, dead=letters) == []
    assert found.instructions == expected.instructions
    assert found.reply == expected.reply


@settings(deadline=None, max_examples=times(80), suppress_health_check=list(HealthCheck))
@given(programs())
def test_generated_programs(program: Program) -> None:
    keeps_its_meaning(program)


@pytest.mark.parametrize("name", CASES)
@settings(deadline=None, max_examples=times(10), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_each_operator(name: str, data: st.DataObject) -> None:
    keeps_its_meaning(data.draw(operator_case(name)))
