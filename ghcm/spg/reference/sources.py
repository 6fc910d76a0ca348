"""Where records come from in the reference: sources partition by partition, sinks and tables as they were given."""

from __future__ import annotations

import glob
import gzip
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import assert_never, cast

import pyarrow as pa

from ghcm.errors import GhcmError
from ghcm.functions import Failure
from ghcm.spg.connectors import Files, Format, Generate, Kafka, Memory, Socket, SourceConnector
from ghcm.spg.ops import ReadSink, ReadTable, Source
from ghcm.spg.reference.decoding import decoded
from ghcm.spg.reference.expressions import evaluate
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.growing import whole_records
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.raw_text import BYTE_ORDER_MARK, LONGEST, Bad
from ghcm.spg.reference.state import Record, Run, Step
from ghcm.types import Struct


def source(run: Run, step: Step, op: Source) -> list[Record]:
    """The records of a source, one partition after the other in the order of their names."""
    connector = op.connector
    if not isinstance(connector, SourceConnector):
        raise GhcmError(f'"{step.id}" cannot read from {connector.word} as a source')
    match connector:
        case Memory(rows=rows):
            scalar = not isinstance(step.gives.element, Struct)
            return [Record(row[0] if scalar else row, partition=(step.id, "")) for row in rows]
        case Generate(rows=count, start_us=start, step_us=each):
            if count is None:
                raise GhcmError(f'"{step.id}" generates records without end', hint="The reference needs `rows`.")
            return [Record((number, start + number * each), partition=(step.id, "")) for number in range(count)]
        case Files(format=format_):
            parts = run.outside.inputs.get(step.id)
            parts = _files(connector, run.outside.base) if parts is None else parts
            if connector.tail:
                parts = {name: whole_records(data, format_) for name, data in parts.items()}
            found = _decoded(run, step, format_, parts)
            if connector.clock == "continues":
                return [replace(record, partition=(step.id, "")) for record in found]
            return found
        case Socket(format=format_) | Kafka(format=format_):
            return _decoded(run, step, format_, run.outside.inputs[step.id])
        case _:
            assert_never(connector)


def _files(connector: Files, base: Path) -> dict[str, bytes]:
    found = sorted(name for name in _names(connector.path, base) if (base / name).is_file())
    if not found:
        raise GhcmError(f'cannot read files "{connector.path}": no file matches')
    return {name: _content(base / name, connector.compression) for name in found}


def _names(path: str, base: Path) -> list[str]:
    """What a path means: a file, a glob, or the files of a directory that are not hidden."""
    if (base / path).is_dir():
        return [f"{path.rstrip('/')}/{name}" for name in os.listdir(base / path) if name[0] not in "._"]
    return glob.glob(path, root_dir=base, recursive=True) if glob.has_magic(path) else [path]


def _content(path: Path, compression: str) -> bytes:
    kind = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}.get(path.suffix) if compression == "ending" else compression
    match kind:
        case "gzip":
            return gzip.decompress(path.read_bytes())
        case "zstd":
            with pa.input_stream(str(path), compression="zstd") as stream:
                return stream.read()
        case _:
            return path.read_bytes()


def _decoded(run: Run, step: Step, format_: Format, parts: Mapping[str, bytes]) -> list[Record]:
    return list(_records(run, step, format_, parts))


def _records(run: Run, step: Step, format_: Format, parts: Mapping[str, bytes]) -> Iterator[Record]:
    for name in sorted(parts):
        data = parts[name].removeprefix(BYTE_ORDER_MARK)
        for row in decoded(data, name, format_, cast("Struct", step.gives.element)):
            if isinstance(row, Bad):
                run.dead(step, row.text[:LONGEST], Failed(Failure.BAD_RECORD, row.detail))
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
