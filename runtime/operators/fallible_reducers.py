"""Reducers that can fail: a record for which one does spoils its group, and no other; the group's result is then a dead
letter.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from ghcm.functions import Failure
from ghcm.reducers import Custom, Fields, Reducer
from ghcm.runtime.native.code import GroupCode, Parameters
from ghcm.runtime.native.rows import RecordFailure

_Attempt: TypeAlias = tuple[object, tuple[str, str] | None]


def has_lambda(reducer: Reducer) -> bool:
    """Whether a part of it is a function of the program."""
    match reducer:
        case Custom():
            return True
        case Fields(parts=parts):
            return any(map(has_lambda, parts))
        case _:
            return False


def fallible(code: GroupCode) -> GroupCode:
    """The same aggregation where a failing reducer spoils its group, not the record: the group's result then fails.

    Its states are pairs: the reducer's own state, or None, and why it failed, or None.
    """

    def attempt(compute: Callable[[], object], *before: _Attempt) -> _Attempt:
        for each in before:
            if each[1] is not None:
                return each
        try:
            return compute(), None
        except RecordFailure as failure:
            return None, (failure.reason.value, failure.detail)

    def add(state: Any, value: object, parameters: Parameters) -> object:
        return attempt(lambda: code.add(state[0], value, parameters), state)

    def merge(left: Any, right: Any, parameters: Parameters) -> object:
        return attempt(lambda: code.merge(left[0], right[0], parameters), left, right)

    def result(state: Any, parameters: Parameters) -> object:
        if state[1] is not None:
            raise RecordFailure(Failure(state[1][0]), state[1][1])
        return code.result(state[0], parameters)

    def first(value: object, parameters: Parameters) -> object:
        return attempt(lambda: code.first(value, parameters))

    return GroupCode(first, add, merge, result, slices=code.slices)
