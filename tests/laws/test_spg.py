"""Laws of generated SPGs: they are sound, come back from text and JSON, and the reference runs them."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghcm.spg.graph import Program
from ghcm.spg.json import from_json, to_json
from ghcm.spg.reference import run
from ghcm.spg.text import parse_program, print_program
from ghcm.spg.verify import verify
from tests.campaigns import times
from tests.laws.spgs import CASES, operator_case, programs, raw_case

slowly = settings(
    deadline=None, max_examples=times(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
briefly = settings(slowly, max_examples=times(10))


def holds_its_laws(program: Program) -> None:
    assert verify(program) == []
    assert parse_program(print_program(program)) == program
    data = to_json(program)
    assert from_json(json.loads(json.dumps(data))) == program
    assert to_json(parse_program(print_program(program))) == data


@slowly
@given(programs())
def test_generated_programs_keep_the_laws(program: Program) -> None:
    holds_its_laws(program)


@slowly
@given(programs())
def test_the_reference_runs_what_is_sound(program: Program) -> None:
    found = run(program, "u")
    assert set(found.sinks) == {"out"}
    assert all(letter.origin.startswith("generated.istream:") for letter in found.dead)


@pytest.mark.parametrize("name", CASES)
@briefly
@given(st.data())
def test_each_operator_has_cases(name: str, data: st.DataObject) -> None:
    program = data.draw(operator_case(name, kind=data.draw(st.sampled_from(["stream", "batch"]))))
    holds_its_laws(program)
    run(program, "u")


@pytest.mark.parametrize("format_name", ["json", "csv", "text"])
@briefly
@given(st.data())
def test_raw_records_are_decoded_or_dead(format_name: str, data: st.DataObject) -> None:
    program, files = data.draw(raw_case(format_name))  # type: ignore[arg-type]
    holds_its_laws(program)
    run(program, "u", inputs={"files": files})
