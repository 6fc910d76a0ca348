"""Calls of users' Python functions by generated row code."""

from collections.abc import Callable
from typing import TypeAlias

from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure
from ghcm.spg.notation.types import parse_type
from ghcm.values.exchange import exchange_of
from ghcm.values.texts import writable

_LONGEST_DETAIL = 2000

UserFunction: TypeAlias = Callable[[object], object]


def call(argument: str, result: str) -> Callable[[UserFunction, object], object]:
    """What calls a user's function for one canonical record and gives its canonical result; it raises `RecordFailure`
    with `python` or `wrong_result`. Both types are spelt as the SPG spells them.
    """
    hand, take = exchange_of(parse_type(argument)).hand, exchange_of(parse_type(result)).take

    def called(function: UserFunction, record: object) -> object:
        try:
            outcome = function(hand(record))
        except Exception as error:  # whatever a user's function raises is this record's failure
            detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise RecordFailure(Failure.PYTHON, writable(detail[:_LONGEST_DETAIL])) from None
        try:
            return take(outcome)
        except (TypeError, ValueError, OverflowError) as error:
            raise RecordFailure(Failure.WRONG_RESULT, writable(str(error)[:_LONGEST_DETAIL])) from None

    return called
