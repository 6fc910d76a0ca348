"""Async functions: how many calls are under way, how long they last, how often they are repeated, and how they end."""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import CancelledError

import pytest

from ghcm.values.awaited import AsyncFunction, Awaiting, Limits, Raised


def results(function: AsyncFunction, limits: Limits, values: list[object]) -> dict[object, object]:
    awaiting = Awaiting(function, limits)
    found = {values[place]: result for some in awaiting.results(values) for place, result in some}
    awaiting.close()
    return found


def test_so_many_calls_are_under_way_and_no_more() -> None:
    running = most = 0

    async def function(value: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        return value * 2

    assert results(function, Limits(3), list(range(10))) == {each: each * 2 for each in range(10)}
    assert (running, most) == (0, 3)


def test_what_a_call_raises_is_about_its_value_alone() -> None:
    tries = Counter[str]()

    async def function(value: str) -> str:
        tries[value] += 1
        match value:
            case "hangs":
                await asyncio.Event().wait()
            case "fails":
                raise ValueError("no")
            case "cancelled":
                raise asyncio.CancelledError
            case "exits":
                raise SystemExit
            case "late" if tries[value] == 1:
                raise ConnectionError
            case _:
                pass
        return value

    given: list[object] = ["fine", "hangs", "fails", "cancelled", "exits", "late"]
    found = results(function, Limits(16, timeout_us=2000, retries=1), given)
    raised = {value: type(each.error) for value, each in found.items() if isinstance(each, Raised)}
    assert raised == {
        "hangs": TimeoutError, "fails": ValueError, "cancelled": asyncio.CancelledError, "exits": SystemExit
    }  # fmt: skip
    assert {value for value in found if value not in raised} == {"fine", "late"}
    assert tries == {value: 1 if value == "fine" else 2 for value in given}


def test_a_result_is_given_while_others_are_under_way() -> None:
    async def function(value: int) -> int:
        if value == 0:
            await asyncio.Event().wait()
        return value

    awaiting = Awaiting(function, Limits(2))
    some = awaiting.results([0, 1])
    assert next(some) == [(1, 1)]
    awaiting.close()
    with pytest.raises(CancelledError):
        next(some)


def test_what_cannot_be_awaited_is_a_mistake_of_the_function() -> None:
    def function(value: int) -> int:
        return value

    found = results(function, Limits(1), [1])  # type: ignore[arg-type]
    assert isinstance(found[1], Raised) and isinstance(found[1].error, TypeError)
