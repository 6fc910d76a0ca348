"""The comparison itself: what it lets pass, and that it lets nothing else pass."""

import math

from ghcm.functions import Failure
from ghcm.spg.reference import DeadLetterRow
from ghcm.types import Field, Float, Int, List, Nullable, String, Struct
from ghcm.verification.compare import compare_dead, compare_rows, same_value

ROW = Struct((Field("a", Nullable(Int())), Field("x", Float())))


def test_rows_are_multisets_or_ordered() -> None:
    one, two = (1, 0.5), (None, math.nan)
    assert compare_rows([one, two, one], [two, one, one], ROW) == []
    assert compare_rows([one, two], [two, one], ROW, ordered=True) == [
        'expected {"a":1,"x":0.5}, found {"a":null,"x":"NaN"}',
        'expected {"a":null,"x":"NaN"}, found {"a":1,"x":0.5}',
    ]
    assert compare_rows([one, one], [one], ROW) == ['missing {"a":1,"x":0.5}']
    assert compare_rows([], [one], ROW) == ['surplus {"a":1,"x":0.5}']


def test_floats_differ_only_by_what_a_sum_may() -> None:
    assert same_value(1.0, 1.0 + 1e-13, Float(), magnitude=1.0)
    assert same_value(1e200, 1e200 * (1 + 1e-13), Float(), inexact=True)
    assert not same_value(1e200, math.inf, Float(), inexact=True)
    assert not same_value(1.0, 1.0 + 1e-13, Float())
    assert same_value(0.0, -0.0, Float())
    assert not same_value(math.inf, math.nan, Float(), magnitude=math.inf)


def test_types_of_values_count() -> None:
    assert not same_value(1, True, Int())
    assert not same_value(1.0, 1, Float())
    assert not same_value([1], [1, 2], List(Int()))
    assert not same_value(None, "", Nullable(String()))


def test_dead_letters_are_compared_by_task_reason_and_input() -> None:
    letter = DeadLetterRow("u", "t", Failure.OVERFLOW, '{"a": -0.0}', "any words", "f:1:1")
    assert compare_dead([letter], [("t", "overflow", '{"a":0.0}')]) == []
    assert len(compare_dead([letter], [("t", "late", '{"a":0.0}')])) == 2
