"""Calls of users' functions that process the values of keys in order, of both engines: what is kept of a key between
them, and when it is to be called again. In what order calls are made is the engines' matter.
"""

from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ghcm.types import Struct
from ghcm.values.exchange import exchange_of
from ghcm.values.texts import writable

MOST_MOMENTS = 1000
"""So many calls of a key at moments may follow each other without a value between; the last names no further one."""
_LONGEST_DETAIL = 2000


@dataclass(slots=True)
class Kept:
    """What is kept of a key: its state, the next moment, and how many moments came since its last value."""

    state: object = None
    moment: int | None = None
    rung: int = 0


class CallFailed(Exception):
    """A call that raised (`python`), or whose answer is none (`wrong_result`)."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = writable(detail[:_LONGEST_DETAIL])


class Processing:
    """A user's function, and the records of what it is asked and answers (`ghcm.types`)."""

    def __init__(self, function: Callable[..., Any], asked: Struct, answered: Struct) -> None:
        self._function = function
        self._hand = exchange_of(asked).hand
        self._take = exchange_of(answered).take

    def call(self, kept: Kept, key: object, value: object, time: int) -> list[object]:
        """The values to give on, of a call with a value or, where that is None, at the moment that was named; raises
        `CallFailed`. All are canonical, `kept` is changed.
        """
        rung = 0 if value is not None else kept.rung + 1
        if value is None:
            kept.moment = None
        try:
            answer = self._function(*self._hand((key, value, time, kept.state)))
        except (Exception, CancelledError, SystemExit) as error:  # whatever it raises is about this call
            detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise CallFailed("python", detail) from None
        try:
            rows, state, moment = self._take(answer)
        except Exception as error:  # a result of any kind may refuse to be looked at
            raise CallFailed("wrong_result", str(error)) from None
        if moment is not None and moment <= time:
            raise CallFailed("wrong_result", "the next moment is not behind that of the call")
        if moment is not None and rung == MOST_MOMENTS:
            raise CallFailed("wrong_result", f"{rung} moments follow each other without a value of the key")
        kept.state, kept.moment, kept.rung = state, moment, rung
        return list(rows)
