"""The job that steps share: where records are when they fail, and those that do."""

import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from ghcm.codegen.spark.library.doubts import Gathered
from ghcm.codegen.spark.library.sql import named, text, when
from ghcm.codegen.spark.library.tallies import Tally
from ghcm.codegen.spark.library.types import has_columns, plain, plain_record, type_of
from ghcm.errors import GhcmError
from ghcm.fence import Fence
from ghcm.places import place
from ghcm.stores import scheme_of
from ghcm.tables.versions import explained
from ghcm.values import encoder


class Refused(ValueError):
    """What the user has to mend: `parts` are its code, message, detail, hint, and where known the file that it is
    about, the task or sink, and the line of the program. They are a line of JSON in its text, which passes from
    Spark's Python workers through Java as it is.
    """

    def __init__(self, code: str, message: str, detail: str = "", hint: str = "", **more: str) -> None:
        self.parts = {"code": code, "message": message, "detail": detail, "hint": hint, **more}
        super().__init__(f"{message}\n{json.dumps(self.parts)}")


def refusal(error: GhcmError, **more: str) -> Refused:
    """The same as what a job refuses."""
    return Refused(error.code, error.message, error.detail, error.hint, **more)


@contextmanager
def refusing_table(folder: str, doing: str) -> Generator[None]:
    """What is wrong with a table, as a job says it."""
    try:
        with explained(place(Path(), folder), doing):
            yield
    except GhcmError as error:
        raise refusal(error) from error.__cause__


cloudpickle.register_pickle_by_value(sys.modules[__package__])  # type: ignore[no-untyped-call]
# Spark's Python workers need not find this package: what they are to run goes to them as it is.


class Step(NamedTuple):
    """Where a record is when it fails: the task, its position in the program, and the type of its input; `record` is
    that input in SQL, where it is not what stands in the columns of these names.
    """

    task: str
    origin: str
    input: DataType
    record: str | None = None


class Written(NamedTuple):
    """Where a run is when it writes: the sink, and its folder or address."""

    sink: str
    folder: str


class Failures(NamedTuple):
    """The records that failed in a step, or in several that run as one: how they are counted (None: not at all), as
    letters, and the type of their input (None: raw text); whether a later step may have left rows of theirs `unmade`.
    Of `steps` the letters are what `failed_inputs` says, and those that came with the count are of type `collected`.
    """

    counted: Tally | Gathered | None
    letters: Callable[[], DataFrame]
    input: DataType | None
    unmade: bool = False
    steps: Sequence[Step] = ()
    collected: DataType | None = None


@dataclass
class Job:
    """One run of a unit, whose job is a file. `given` are its parameters in SQL; `failures` counts failing records
    while the run goes on.
    """

    spark: SparkSession
    unit: str
    file: str
    context: dict[str, Any] = field(repr=False)
    given: dict[str, str] = field(default_factory=dict[str, str])
    failures: list[Failures] = field(default_factory=list[Failures])
    unsettled: dict[str, list[Callable[[], DataFrame]]] = field(
        default_factory=dict[str, list[Callable[[], DataFrame]]]
    )
    """By source the dead letters of rows that are checked by group."""
    kept: list[DataFrame] = field(default_factory=list[DataFrame])
    left: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    """What gives back other rows that are held until the run ends."""
    sinks: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    replied: list[str] | None = None
    """The values that the unit answers with, as JSON; `alone` if they are no records."""
    alone: bool = False
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    repeated: bool = False
    rounds: dict[str, int] = field(default_factory=dict[str, int])
    at: Step | Written | None = None
    """The source that is read, or the sink that is written, at the moment."""
    reading: dict[str, tuple[Step, str]] = field(default_factory=dict[str, tuple[Step, str]])
    """The files that are read, by whom, and how they are compressed."""
    pieces: dict[tuple[str, str], dict[str, list[tuple[int, int]]]] = field(
        default_factory=dict[tuple[str, str], dict[str, list[tuple[int, int]]]]
    )
    """Of files whose lines were counted, by where they are and how they are compressed: as Spark names them, the first
    byte of each piece and its lines. A file without lines has none.
    """
    topics: dict[str, tuple[Step, dict[int, tuple[int, int]]]] = field(
        default_factory=dict[str, tuple[Step, dict[int, tuple[int, int]]]]
    )
    """The topics that are read, by whom, and from which offset to before which of partitions that must keep these."""
    asked: list[DataFrame] = field(default_factory=list[DataFrame])
    """The rows that sinks, replies and calls have asked Spark for, and rounds of iterations."""
    later: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    """What is done when all rows of the run are made, as it cannot be taken back."""

    @property
    def fence(self) -> Fence | None:
        """What is asked before anything is written that others may write too."""
        return self.context.get("fence")

    def progress(self, share: float, doing: str) -> None:
        """Tell whoever listens how far the run is."""
        if self.context.get("progress") is not None:
            self.context["progress"](share, doing)

    def where(self, path: str) -> str:
        """A path as seen from the folder of the run; a URL as it is."""
        if scheme_of(path) is not None:
            return path.rstrip("/")
        return os.path.normpath(os.path.join(os.path.abspath(self.context.get("base") or "."), path))

    def keep(self, rows: DataFrame) -> DataFrame:
        """Hold rows that several ends need, so that they are made once."""
        if not rows.is_cached:
            self.kept.append(rows.persist())
        return rows


def passed(
    job: Job, rows: DataFrame, steps: Step | Sequence[Step], error: str, *columns: str, united: bool = False
) -> DataFrame:
    """These columns (all without any) of the rows that do not fail; those that do become dead letters. The error of one
    of several steps begins with its index.

    Letters come with the count of failing rows, in the pass that makes the others, unless they are many or long. They
    have the number of their row, as Spark may run a task again: what comes twice has the same numbers. In a pass of
    their own come letters of records with lists or many values, whose code would make the loop of the stage too long
    for Java, and of rows that are `united` in the same stage: Spark ends its loop at a union of rows with numbers.
    """
    listed = [steps] if isinstance(steps, Step) else steps
    inputs, tally, told = failed_inputs(listed), Tally.of(job.spark), rows.withColumn("@error", F.expr(error))

    def failed() -> DataFrame:
        return told.where("`@error` IS NOT NULL").selectExpr(*(named(value, name) for name, value in inputs.items()))

    if united or sum(values_in(each.input) for each in listed) > FEW_VALUES:
        job.failures.append(Failures(tally, failed, None, steps=listed))
        return tally.sound(told).selectExpr(*(columns or ["* EXCEPT (`@error`)"]))
    fields = ", ".join(f"{text(name)}, {value}" for name, value in {"row": "`@row`", **inputs}.items())
    letter = f"named_struct({fields})"
    short = f"{few('`@row`')} AND char_length(string({letter})) <= {LONGEST_LETTER}"
    numbered = told.withColumn("@row", F.expr(when("`@error` IS NOT NULL", "monotonically_increasing_id()")))
    type_ = numbered.selectExpr(f"{letter} AS letter").schema["letter"].dataType
    job.failures.append(Failures(tally, failed, None, steps=listed, collected=type_))
    made = tally.sound(numbered, letter, type_, short)
    return made.selectExpr(*(columns or ["* EXCEPT (`@error`, `@row`)"]))


FEW_VALUES = 20
"""How many values a record may have of which letters come with their count."""


def values_in(type_: DataType) -> int:
    """How many values there are in a value of a type; more than a few where it has lists or maps."""
    if isinstance(type_, StructType):
        return sum(values_in(each.dataType) for each in type_.fields)
    return FEW_VALUES + 1 if isinstance(type_, ArrayType | MapType) else 1


LONGEST_LETTER = 1000
"""Characters of a dead letter that may come with the count of them."""


def few(row: str) -> str:
    """Whether a failing row, by its number, is among those whose letters come with their count: a thousand from each of
    the first partitions and fewer from those behind, so that the driver has room for all, however many there are.
    """
    return f"({row} & {2**33 - 1}L) < least(1000L, 16000L div (shiftright({row}, 33) + 1L))"


def failed_inputs(steps: Sequence[Step]) -> dict[str, str]:
    """The fields of a failing record of one of these steps: its error, and what the input of each step is."""
    inputs = (plain_record(each.input) if each.record is None else plain(each.record, each.input) for each in steps)
    return {"error": "`@error`"} | {f"input_{at}": value for at, value in enumerate(inputs)}


def parted(
    job: Job, rows: DataFrame, error: str, as_letters: Callable[[DataFrame], DataFrame], input: DataType | None
) -> DataFrame:
    """The rows that do not fail; those that do become dead letters, and are counted while the rest is made."""
    found, tally = counting(job, rows, error, as_letters, input)
    return tally.sound(found).drop("@error")


def with_sound_keys(job: Job, rows: DataFrame, texts: Sequence[str], sources: Sequence[str]) -> DataFrame:
    """The groups, or rows, whose keys are no others than those of records; what these sources have left `unsettled` are
    dead letters where there are others.
    """
    left = [each for source in sources for each in job.unsettled.pop(source, ())]
    if not left:
        return rows
    tally, error = Tally.of(job.spark), " OR ".join(f"NOT is_valid_utf8({each})" for each in texts)
    job.failures += [Failures(tally, letters, None) for letters in left]
    return tally.sound(rows.withColumn("@error", F.expr(when(error, "'bad_record'")))).drop("@error")


def marked(
    job: Job, rows: DataFrame, error: str, as_letters: Callable[[DataFrame], DataFrame], input: DataType | None
) -> DataFrame:
    """The rows with their `@error`; those that have one become dead letters, and are counted while the rest is made."""
    found, tally = counting(job, rows, error, as_letters, input)
    return tally.marked(found)


def counting(
    job: Job, rows: DataFrame, error: str, as_letters: Callable[[DataFrame], DataFrame], input: DataType | None
) -> tuple[DataFrame, Tally]:
    """The rows with their `@error`, and what counts them."""
    found, tally = rows.selectExpr("*", named(error, "@error")), Tally.of(job.spark)
    job.failures.append(Failures(tally, lambda: as_letters(found.where("`@error` IS NOT NULL")), input))
    return found, tally


def letters(job: Job, failed: DataFrame, step: Step, record: str) -> DataFrame:
    """Dead letters of rows with `@error`, which is `reason: detail`."""
    reason = "substring_index(`@error`, ': ', 1)"
    fields = {
        "unit": text(job.unit),
        "task": text(step.task),
        "reason": reason,
        "detail": f"substring(`@error`, char_length({reason}) + 3, 4000)",
        "input": record,
        "origin": text(step.origin),
    }
    return failed.selectExpr(*(named(value, name) for name, value in fields.items()))


def reply_with(job: Job, rows: DataFrame, element: DataType) -> None:
    """Answer the call with these rows."""
    job.progress(0.5, "making the reply")
    job.asked.append(rows)
    taken = rows.selectExpr(named(plain_record(element), "@row")).collect()
    encode = encoder(type_of(element, nullable=True))
    job.alone = not has_columns(element)
    job.replied = [*(job.replied or ()), *(encode(row[0]) for row in taken)]
