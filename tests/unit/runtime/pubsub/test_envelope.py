"""What travels through msg caches: everything comes back as it was sent, and data is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.envelope import (
    LIMIT,
    Failed,
    Feedback,
    Instruction,
    SinkVersion,
    State,
    decode_feedback,
    decode_instruction,
    encode,
    failure,
)

names = st.text(min_size=1, max_size=20)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20)
)
parameters = st.dictionaries(
    names, scalars | st.lists(scalars, max_size=4) | st.dictionaries(names, scalars, max_size=3)
)

instructions = st.builds(
    Instruction,
    id=names,
    program=names,
    unit=names,
    parameters=parameters,
    reply=st.none() | names,
    deadline=st.none() | st.integers(0, 2**62),
    trace=names,
    publisher=names,
    versions=st.dictionaries(names, names, max_size=3),
)
feedbacks = st.builds(
    Feedback,
    id=names,
    state=st.sampled_from(State),
    progress=st.floats(0, 1),
    detail=st.text(max_size=40),
    sinks=st.dictionaries(names, st.builds(SinkVersion, version=names, rows=st.integers(0)), max_size=3),
    rows=st.none() | st.integers(0),
    error=st.none() | st.builds(Failed, code=names, message=names),
    timings=st.dictionaries(names, st.floats(0, 1e6), max_size=3),
    as_of=st.none() | st.integers(),
)


def test_parameters_may_be_deep_and_too_deep_ones_are_refused() -> None:
    def nested(depth: int) -> Instruction:
        value: dict[str, object] = {}
        for _ in range(depth):
            value = {"a": value}
        return Instruction("1", "program", "unit", value)

    assert decode_instruction(encode(nested(600))) == nested(600)
    with pytest.raises(GhcmError, match="cannot be written as JSON"):
        encode(nested(9_000))


@given(instructions)
def test_an_instruction_comes_back_as_it_was_sent(instruction: Instruction) -> None:
    assert decode_instruction(encode(instruction)) == instruction


@given(feedbacks)
def test_a_feedback_comes_back_as_it_was_sent(feedback: Feedback) -> None:
    assert decode_feedback(encode(feedback)) == feedback


def test_an_instruction_over_64_kib_is_refused_with_advice() -> None:
    with pytest.raises(GhcmError) as refused:
        encode(Instruction("1", "traffic", "rebuild", {"since": 1, "notes": "x" * LIMIT}))
    assert "too large" in refused.value.message
    assert "65,536" in refused.value.message
    assert "notes" in refused.value.detail
    assert "put the data in a sink and pass its version" in refused.value.hint


def test_an_instruction_of_just_64_kib_is_sent() -> None:
    empty = len(encode(Instruction("1", "p", "u", {"note": ""})))
    instruction = Instruction("1", "p", "u", {"note": "x" * (LIMIT - empty)})
    assert len(encode(instruction)) == LIMIT
    assert decode_instruction(encode(instruction)) == instruction
    with pytest.raises(GhcmError, match="too large"):
        encode(Instruction("1", "p", "u", {"note": "x" * (LIMIT - empty + 1)}))


def test_records_are_refused_whatever_their_size() -> None:
    with pytest.raises(GhcmError) as refused:
        encode(Instruction("1", "p", "u", {"rows": [{"a": 1}, {"a": 2}]}))
    assert 'parameter "rows" holds data: a list of 2 records' in refused.value.message
    wire = json.dumps({"v": 1, "id": "1", "program": "p", "unit": "u", "parameters": {"rows": [{"a": 1}]}})
    with pytest.raises(GhcmError, match="holds data"):
        decode_instruction(wire)


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        ("{", "no JSON"),
        ("[]", "no JSON object"),
        ('{"v": 2, "id": "1"}', "format 2 is not known"),
        ('{"v": 1, "program": "p", "unit": "u"}', 'the field "id" is missing'),
        ('{"v": 1, "id": "1", "unit": "u"}', 'the field "program" is missing'),
        ('{"v": 1, "id": "1", "program": "p", "unit": ""}', 'the field "unit" is empty'),
        ('{"v": 1, "id": 7, "program": "p", "unit": "u"}', 'the field "id" is no str'),
        ('{"v": 1, "id": "1", "program": "p", "unit": "u", "parameters": 1}', 'the field "parameters" is no object'),
        ('{"v": 1, "id": "1", "program": "p", "unit": "u", "deadline": "soon"}', 'the field "deadline" is no int'),
        ('{"v": 1, "id": "1", "program": "p", "unit": "u", "versions": {"s": 1}}', 'the field "versions.s" is no str'),
    ],
)
def test_what_is_no_instruction_is_refused(wire: str, said: str) -> None:
    with pytest.raises(GhcmError) as refused:
        decode_instruction(wire)
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        ('{"v": 1, "id": "1", "state": "finished"}', 'unknown state "finished"'),
        ('{"v": 1, "id": "1"}', 'the field "state" is missing'),
        ('{"v": 1, "id": "1", "state": "progress", "progress": 2}', '"progress" is no number from 0 to 1'),
        (f'{{"v": 1, "id": "1", "state": "progress", "progress": 1{"0" * 400}}}', 'the field "progress" is no float'),
        (
            f'{{"v": 1, "id": "1", "state": "done", "timings": {{"run": 1{"0" * 400}}}}}',
            'the field "timings.run" is no',
        ),
        ('{"v": 1, "id": "1", "detail": ' + "[" * 60_000, "no JSON"),
        ('{"v": 1, "id": "1", "state": "failed", "error": {"code": "x"}}', 'the field "message" is missing'),
    ],
)
def test_what_is_no_feedback_is_refused(wire: str, said: str) -> None:
    with pytest.raises(GhcmError) as refused:
        decode_feedback(wire)
    assert said in refused.value.message


def test_fields_of_a_later_format_are_passed_over() -> None:
    wire = '{"v": 1, "id": "1", "program": "p", "unit": "u", "priority": 9}'
    assert decode_instruction(wire) == Instruction("1", "p", "u")


def test_a_huge_error_still_fits_into_its_feedback() -> None:
    feedback = failure("1", GhcmError("x" * 200_000, detail="y" * 200_000, hint="z" * 200_000))
    assert decode_feedback(encode(feedback)).state is State.FAILED
