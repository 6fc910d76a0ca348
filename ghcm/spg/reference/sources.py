"""Where records come from in the reference: sources partition by partition, sinks and tables as they were given."""

from __future__ import annotations

import glob
import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import assert_never, cast

from ghcm.errors import GhcmError
from ghcm.functions import Failure
from ghcm.spg.connectors import Files, Format, Generate, Kafka, Memory, Parquet, Redis, Socket
from ghcm.spg.ops import ReadSink, ReadTable, Source
from ghcm.spg.reference.decoding import Bad, decoded
from ghcm.spg.reference.expressions import evaluate
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.state import Record, Run, Step
from ghcm.types import Struct

__all__ = ["read_sink", "read_table", "source"]


def source(run: Run, step: Step, op: Source) -> list[Record]:
    """The records of a source, one partition after the other in the order of their names."""
    connector = op.connector
    match connector:
        case Memory(rows=rows):
            scalar = not isinstance(step.gives.element, Struct)
            return [Record(row[0] if scalar else row, partition=(step.id, "")) for row in rows]
        case Generate(rows=count, start_us=start, step_us=each):
            if count is None:
                raise GhcmError(f'"{step.id}" generates records without end', hint="The reference needs `rows`.")
            return [Record((number, start + number * each), partition=(step.id, "")) for number in range(count)]
        case Files(path=path, format=format_):
            parts = run.outside.inputs.get(step.id)
            return _decoded(run, step, format_, _files(path, run.outside.base) if parts is None else parts)
        case Socket(format=format_) | Kafka(format=format_):
            return _decoded(run, step, format_, run.outside.inputs[step.id])
        case Parquet() | Redis():
            raise GhcmError(f'"{step.id}" cannot read from {type(connector).__name__} as a source')
        case _:
            assert_never(connector)


def _files(path: str, base: Path) -> dict[str, bytes]:
    names = glob.glob(path, root_dir=base, recursive=True) if glob.has_magic(path) else [path]
    found = sorted(name for name in names if (base / name).is_file())
    if not found:
        raise GhcmError(f'cannot read files "{path}": no file matches')
    return {name: _content(base / name) for name in found}


def _content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _decoded(run: Run, step: Step, format_: Format, parts: Mapping[str, bytes]) -> list[Record]:
    return list(_records(run, step, format_, parts))


def _records(run: Run, step: Step, format_: Format, parts: Mapping[str, bytes]) -> Iterator[Record]:
    for name in sorted(parts):
        for row in decoded(parts[name], name, format_, cast("Struct", step.gives.element)):
            if isinstance(row, Bad):
                run.dead(step, row.text, Failed(Failure.BAD_RECORD, row.detail))
            else:
                yield Record(row, partition=(step.id, name))


def read_sink(run: Run, step: Step, op: ReadSink) -> list[Record]:
    """The rows that the sink was given to hold."""
    return [Record(row, partition=(step.id, "")) for row in run.outside.sinks.get(op.sink, ())]


def read_table(run: Run, step: Step, op: ReadTable) -> list[Record]:
    """The pairs of the table, or the one of the key."""
    pairs = run.outside.tables.get((op.unit, op.task), ())
    if op.key is not None:
        type_ = op.key.type
        try:
            wanted = order_key(evaluate(op.key, {}, run.parameters), type_)
        except Failed as failure:
            run.dead(step, "null", failure)
            return []
        pairs = [(key, value) for key, value in pairs if order_key(key, type_) == wanted]
    return [Record((key, value), partition=(step.id, "")) for key, value in pairs]
