"""Operations that take one record after the other where it is, and the union of inputs."""

from __future__ import annotations

from dataclasses import dataclass

from ghcm.expr import Lambda


@dataclass(frozen=True, slots=True)
class EventTime:
    """Gives each record its event time and its partition's watermark just before it (greatest time so far - disorder).

    `disorder_us` None: nothing is ever late, the watermark stays at minus infinity until the input ends (bounded
    input only). A null time is a dead letter (`null_time`).

    A partition of which nothing came for `idle_us` by the clock of the unit is idle until a record comes: its watermark
    goes on with the least of those partitions that are not idle, of this task and of all others whose records may meet
    its records (`ghcm.spg.meetings`), and never goes back. Where all are idle it stays, but for what those that
    have ended had come to. None: no partition is ever idle. Stream units only.
    """

    time: Lambda
    disorder_us: int | None
    idle_us: int | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the records for which the predicate is true (not false, not null)."""

    predicate: Lambda


@dataclass(frozen=True, slots=True)
class Map:
    """One record for one record."""

    function: Lambda


@dataclass(frozen=True, slots=True)
class FlatMap:
    """The items of the list that the function gives; none for null."""

    function: Lambda


@dataclass(frozen=True, slots=True)
class MapToPair:
    """A pair for each record; the body is a tuple `(key, value)`."""

    function: Lambda


@dataclass(frozen=True, slots=True)
class MapValues:
    """A new value for each pair under the same key; the parameter is the value."""

    function: Lambda


@dataclass(frozen=True, slots=True)
class KeyBy:
    """The pair of the function's result and the record itself."""

    function: Lambda


@dataclass(frozen=True, slots=True)
class PythonBatch:
    """The user's `module:function`, called with a pyarrow table of many records (a scalar in the column `value`), which
    gives as many records back, in the same order: a table, a record batch, for scalars an array, or a list.

    Results are checked as those of `PythonCall`. A batch that fails is replayed record by record, with tables of one.
    """

    module: str
    function: str


@dataclass(frozen=True, slots=True)
class PythonCall:
    """The user's `module:function`, called with one record (a scalar as itself, a struct as a namedtuple-like object
    with attributes) and checked against the task's element.

    An exception is a dead letter (`python`), a result of another type too (`wrong_result`).
    """

    module: str
    function: str


@dataclass(frozen=True, slots=True)
class Union:
    """All records of all inputs; the inputs have the same element."""
