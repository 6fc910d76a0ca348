"""Generated programs on Spark: their sinks filled before and read after by the runtime, whose formats Spark shares."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from ghcm.runtime.data.columns import Row
from ghcm.runtime.sinks.sink import open_writer, read
from ghcm.spg import reference
from ghcm.spg.graph import Program, Sink
from ghcm.spg.ops import To
from ghcm.types import Struct
from ghcm.verification.compare import compare_rows, differences
from tests.conformance.spark_runs import Outcome, reply_element, run_on_spark
from tests.redis_server import connected

__all__ = ["differences_on_spark", "read_sink", "write_sink"]


def differences_on_spark(
    spark: SparkSession,
    program: Program,
    *,
    sinks: Mapping[str, Sequence[object]] | None = None,
    files: Mapping[str, bytes] | None = None,
    ordered: bool = False,
    seen: Callable[[Outcome], object] | None = None,
    progress: Callable[[float, str], object] | None = None,
) -> list[str]:
    """What Spark gives otherwise than the reference for unit "u", in words; what it gives is handed to `seen`."""
    with tempfile.TemporaryDirectory(prefix="ghcm-spark-") as name:
        folder = Path(name)
        for path, data in (files or {}).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        for sink, rows in (sinks or {}).items():
            write_sink(folder, program.sink(sink), rows)
        expected = reference.run(program, "u", base=folder, sinks=sinks or {})
        found = run_on_spark(spark, program, "u", folder, progress=progress)
        if seen is not None:
            seen(found)
        written = {task.op.sink for task in program.unit("u").tasks if isinstance(task.op, To)}
        got = {sink: read_sink(folder, program.sink(sink)) for sink in sorted(written)}
        differ = differences(program, expected, sinks=got, dead=found.dead, ordered=ordered)
        differ += [f"reply: {line}" for line in _replies(program, expected, found)]
        return differ + _calls(program, expected, found)


def _replies(program: Program, expected: reference.Result, found: Outcome) -> list[str]:
    from ghcm.values import from_json

    element = reply_element(program, "u")
    if element is None:
        return []
    rows = [from_json(each, element) for each in found.reply]
    return compare_rows(expected.reply or [], rows, element, expected.magnitude)


def _calls(program: Program, expected: reference.Result, found: Outcome) -> list[str]:
    from tests.conformance.spark_runs import instructions

    mine, other = found.calls, instructions(program, expected)
    return [] if mine == other else [f"instructions: expected {other}, found {mine}"]


def write_sink(folder: Path, sink: Sink, rows: Sequence[object]) -> None:
    """Fill a sink as the native engine does."""
    writer = open_writer(sink, connected(folder), writer="test")
    writer.write([row if isinstance(sink.element, Struct) else (row,) for row in rows])  # type: ignore[misc]
    version = uuid.uuid4().hex
    writer.prepare(version)
    writer.commit(version)
    writer.close()


def read_sink(folder: Path, sink: Sink) -> list[object]:
    """The canonical records in a sink."""
    rows: list[Row] = list(read(sink, connected(folder)))
    return [row if isinstance(sink.element, Struct) else row[0] for row in rows]
