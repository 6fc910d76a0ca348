"""What generated code calls for `fold`, an aggregate of a user's own: its states, as those in `summaries`.

A function of the user that fails while values are merged spoils its group, and no record: the result then fails.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ghcm.functions import Failure
from ghcm.runtime.native.code import Parameters
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.native.summaries import Order


@dataclass(frozen=True, slots=True)
class Merged:
    """Values in any order. The state is what they have become and None, or None and why that failed.

    `begin` makes what one value becomes, `step` adds one, `join` makes one of two, `value` what all have become, and
    `finish` the result of that, or of None where there are no values.
    """

    begin: Callable[[Any], Any]
    step: Callable[[Any, Any, Parameters], Any]
    join: Callable[[Any, Any, Parameters], Any]
    value: Callable[[Any], Any]
    finish: Callable[[Any, Parameters], Any]

    def add(self, state: Any, value: object, parameters: Parameters) -> Any:
        """The state with one more value."""
        if value is None:
            return state
        return (self.begin(value), None) if state is None else _attempt(self.step, state, value, parameters)

    def merge(self, left: Any, right: Any, parameters: Parameters) -> Any:
        """One state of two."""
        if left is None or right is None:
            return right if left is None else left
        return right if right[1] is not None else _attempt(self.join, left, right[0], parameters)

    def result(self, state: Any, parameters: Parameters) -> object:
        """The result; fails where a merge did."""
        if state is None:
            return self.finish(None, parameters)
        held, failed = state
        if failed is not None:
            raise RecordFailure(Failure(failed[0]), failed[1])
        return self.finish(self.value(held), parameters)


def _attempt(function: Callable[[Any, Any, Parameters], Any], state: Any, other: object, parameters: Parameters) -> Any:
    if state[1] is not None:
        return state
    try:
        return function(state[0], other, parameters), None
    except RecordFailure as failure:
        return None, (failure.reason.value, failure.detail)


@dataclass(frozen=True, slots=True)
class InOrder:
    """Values one after the other. The state is order value, record and value of each; `by` and `tie` order the first
    two, and `finish` makes the result of the list of the values.
    """

    by: Order
    tie: Order
    finish: Callable[[list[Any], Parameters], Any]

    def add(self, state: Any, order: object, record: object, value: object) -> Any:
        """The state with one more record."""
        return state if value is None else self.merge(state, [(order, record, value)])

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        if left is None or right is None:
            return left if right is None else list(right)
        left.extend(right)
        return left

    def of(self, orders: Iterable[object], records: Iterable[object], values: Iterable[object]) -> Any:
        """The state of several records; those without a value are left out."""
        return [each for each in zip(orders, records, values, strict=True) if each[2] is not None] or None

    def result(self, state: Any, parameters: Parameters) -> object:
        """The result of the values in order."""
        ordered = sorted(state or (), key=lambda each: (self.by(each[0]), self.tie(each[1])))
        return self.finish([each[2] for each in ordered], parameters)
