"""What all generated row code calls: the failure of a record, what is tried, conditions on items, windows.

The functions of the language stand in `ghcm.runtime.native.row_functions` and raise `RecordFailure` where the table
`ghcm.functions` says that they fail. None of them takes nulls: generated code tests for them.
"""

from collections.abc import Callable, Iterable, Sequence
from math import gcd
from typing import Any, NoReturn, TypeVar

from ghcm.functions import Failure
from ghcm.types import INT_MAX, INT_MIN
from ghcm.values.timestamps import timestamp_text

T = TypeVar("T")


class RecordFailure(Exception):
    """One record cannot go on: why, in a word and in a sentence."""

    def __init__(self, reason: Failure, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def overflow(what: str) -> NoReturn:
    """The record fails because something leaves 64 bits."""
    raise RecordFailure(Failure.OVERFLOW, f"{what} does not fit 64 bits")


def any_of(values: Sequence[bool | None]) -> bool | None:
    """Three-valued `or` of values, some of them null."""
    return True if True in values else None if None in values else False


def all_of(values: Sequence[bool | None]) -> bool | None:
    """Three-valued `and` of values, some of them null."""
    return False if False in values else None if None in values else True


def attempt(compute: Callable[[], T]) -> T | None:
    """What is computed, or None where the record would fail."""
    try:
        return compute()
    except RecordFailure:
        return None


def folded(step: Callable[[tuple[Any, Any]], Any], first: Any, items: Iterable[Any] | None) -> Any:
    """What a function makes of the value so far and each item, in turn; None of no list."""
    if items is None:
        return None
    so_far = first
    for item in items:
        so_far = step((so_far, item))
    return so_far


def window_of(time: int, size: int) -> tuple[int, int]:
    """The window of that size that holds a time; RecordFailure where there is none, or it leaves 64 bits."""
    if size < 1:
        raise RecordFailure(Failure.ZERO_DIVISOR, f"windows of {size} microseconds")
    start = time - time % size
    if start < INT_MIN or start + size > INT_MAX:
        overflow("a window")
    return start, start + size


def on_time(start: int, end: int, closed: int, watermark: int) -> bool:
    """Whether a record may still enter the window that closes at watermark `closed`."""
    return watermark < closed and start >= INT_MIN and end <= INT_MAX


def open_windows(
    time: int, size: int, every: int, lateness: int, watermark: int, offset: int = 0
) -> list[tuple[int, int]]:
    """The sliding windows that a record may still enter, in their order; none where one of all its windows does not
    fit 64 bits.
    """
    return [(start, start + size) for start in _open_starts(time, size, every, lateness, watermark, offset)]


def pane(time: int, size: int, every: int, lateness: int, watermark: int, offset: int = 0) -> tuple[int, int] | None:
    """The start of the record's slice and the end of the first window that it may still enter; None where there is
    none.
    """
    starts = _open_starts(time, size, every, lateness, watermark, offset)
    return (_last_start(time, gcd(size, every), offset), starts[0] + size) if starts else None


def _open_starts(time: int, size: int, every: int, lateness: int, watermark: int, offset: int) -> range:
    first, last = _first_start(time, size, every, offset), _last_start(time, every, offset)
    if first < INT_MIN or last + size > INT_MAX:
        return range(0)
    return range(max(first, _first_start(watermark - lateness, size, every, offset)), last + 1, every)


def growing_open_windows(
    time: int, size: int, every: int, lateness: int, watermark: int, offset: int = 0
) -> list[tuple[int, int]]:
    """As `open_windows`, of windows that share their start."""
    start = _last_start(time, size, offset)
    return [(start, end) for end in _open_ends(start, time, size, every, lateness, watermark)]


def growing_pane(
    time: int, size: int, every: int, lateness: int, watermark: int, offset: int = 0
) -> tuple[int, int] | None:
    """As `pane`, of windows that share their start."""
    ends = _open_ends(_last_start(time, size, offset), time, size, every, lateness, watermark)
    return (_last_start(time, every, offset), ends[0]) if ends else None


def _open_ends(start: int, time: int, size: int, every: int, lateness: int, watermark: int) -> range:
    if start < INT_MIN or start + size > INT_MAX:
        return range(0)
    reached = max(time, watermark - lateness)
    return range(start + ((reached - start) // every + 1) * every, start + size + 1, every)


def _first_start(time: int, size: int, every: int, offset: int) -> int:
    """The start of the first window that ends after a time."""
    return _last_start(time - size, every, offset) + every


def _last_start(time: int, every: int, offset: int) -> int:
    """The last start of a window, or of a slice, at or before a time."""
    return time - (time - offset) % every


def none_open(time: int, size: int, every: int, watermark: int, offset: int = 0) -> tuple[Failure, str]:
    """Why a record may enter none of its sliding windows."""
    return too_late(_first_start(time, size, every, offset), _last_start(time, every, offset) + size, watermark)


def too_late(start: int, end: int, watermark: int) -> tuple[Failure, str]:
    """Why it may not."""
    if start < INT_MIN or end > INT_MAX:
        return Failure.OVERFLOW, f"the window from {start} to {end} does not fit 64 bits"
    return Failure.LATE, f"the watermark {_moment(watermark)} had passed the window that ends at {_moment(end)}"


def _moment(micros: int) -> str:
    return "of the end of input" if micros == INT_MAX else timestamp_text(micros)
