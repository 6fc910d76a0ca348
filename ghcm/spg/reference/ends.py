"""Where records come from in the reference and where they go: sources partition by partition, sinks and tables as they
were given; writes, replies and publish policies.
"""

import glob
import gzip
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import assert_never, cast

import pyarrow as pa

from ghcm.errors import GhcmError
from ghcm.formats.messages import Message
from ghcm.functions import Failure
from ghcm.places import Place, Remote, place
from ghcm.reducers import Aggregate
from ghcm.spg.connectors import Files, Format, Generate, Kafka, Memory, Mode, Socket, SourceConnector, SqlQuery, Table
from ghcm.spg.ops import Publish, ReadSink, ReadTable, Source, To
from ghcm.spg.reference import messages
from ghcm.spg.reference.aggregates import Given, aggregate, given
from ghcm.spg.reference.decoding import BYTE_ORDER_MARK, LONGEST, Bad, decoded, whole_records
from ghcm.spg.reference.expressions import evaluate
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.order import order_key
from ghcm.spg.reference.state import NO_KEY, Parts, Published, Record, Run, Step, Window
from ghcm.spg.reference.tables import records_of
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
            raw = run.outside.inputs.get(step.id)
            parts = _files(connector, run.outside.base) if raw is None else _bytes(raw)
            if connector.tail:
                parts = {name: whole_records(data, format_) for name, data in parts.items()}
            found = _decoded(run, step, format_, parts)
            if connector.clock == "continues":
                return [replace(record, partition=(step.id, "")) for record in found]
            return found
        case Table():
            read = records_of(connector, run.outside.base, cast("Struct", step.gives.element))
            return list(_recorded(run, step, "", read))
        case Socket(format=format_):
            return _decoded(run, step, format_, _bytes(run.outside.inputs[step.id]))
        case SqlQuery():  # its rows as JSON objects
            return _decoded(run, step, Format("json"), _bytes(run.outside.inputs[step.id]))
        case Kafka():
            return list(_messages(run, step, connector))
        case _:
            assert_never(connector)


def _messages(run: Run, step: Step, connector: Kafka) -> Iterator[Record]:
    parts = run.outside.inputs[step.id]
    for name in sorted(parts):
        data = parts[name]
        lines = data.removesuffix(b"\n").split(b"\n") if isinstance(data, bytes) and data else []
        found = [Message(line) for line in lines] if isinstance(data, bytes) else data
        rows = messages.records_of(found, name, connector, cast("Struct", step.gives.element))
        yield from _recorded(run, step, name, rows)


def _bytes(parts: Parts) -> Mapping[str, bytes]:
    return cast("Mapping[str, bytes]", parts)


def _files(connector: Files, base: Path) -> dict[str, bytes]:
    there = place(base, connector.path)
    names = there.files() if isinstance(there, Remote) else _names(connector.path, base)
    if not names:
        raise GhcmError(f'cannot read files "{connector.path}": no file matches')
    return {name: _content(place(base, name), connector.compression) for name in names}


def _names(path: str, base: Path) -> list[str]:
    """What a path means: a file, a glob, or the files of a directory that are not hidden."""
    if (base / path).is_dir():
        found = [f"{path.rstrip('/')}/{name}" for name in os.listdir(base / path) if name[0] not in "._"]
    else:
        found = glob.glob(path, root_dir=base, recursive=True) if glob.has_magic(path) else [path]
    return sorted(name for name in found if (base / name).is_file())


def _content(path: Place, compression: str) -> bytes:
    kind = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}.get(path.suffix) if compression == "ending" else compression
    match kind:
        case "gzip":
            return gzip.decompress(path.read_bytes())
        case "zstd":
            with pa.input_stream(pa.py_buffer(path.read_bytes()), compression="zstd") as stream:
                return stream.read()
        case _:
            return path.read_bytes()


def _decoded(run: Run, step: Step, format_: Format, parts: Mapping[str, bytes]) -> list[Record]:
    return list(_records(run, step, format_, parts))


def _records(run: Run, step: Step, format_: Format, parts: Mapping[str, bytes]) -> Iterator[Record]:
    for name in sorted(parts):
        data = parts[name].removeprefix(BYTE_ORDER_MARK)
        yield from _recorded(run, step, name, decoded(data, name, format_, cast("Struct", step.gives.element)))


def _recorded(run: Run, step: Step, partition: str, rows: Iterable[tuple[object, ...] | Bad]) -> Iterator[Record]:
    for row in rows:
        if isinstance(row, Bad):
            run.dead(step, row.text[:LONGEST], Failed(Failure.BAD_RECORD, row.detail))
        else:
            yield Record(row, partition=(step.id, partition))


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


def write(run: Run, step: Step, op: To, records: Sequence[Record]) -> None:
    """Add records to a sink. With a key the last record of each key stays, where its first stood."""
    sink = run.program.sink(op.sink)
    rows = run.result.sinks.setdefault(op.sink, [])
    key = sink.key
    if key is None or sink.mode is Mode.APPEND:
        rows.extend(record.value for record in records)
        return
    indices = {order_key(run.apply(key, row), key.body.type): index for index, row in enumerate(rows)}
    for record, value in run.applied(step, key, records):
        index = indices.setdefault(order_key(value, key.body.type), len(rows))
        rows[index : index + 1] = [record.value]


def publish(run: Run, step: Step, op: Publish, records: Sequence[Record]) -> None:
    """Send instructions as the policy says, over the records in order of arrival (inputs one after the other).

    `every_us` is a matter of the clock: here nothing is sent before the end of input, and then only with `at_end`. On
    completion there is always one instruction; a window is closed once all of its records have come, windows by their
    ends.
    """
    for group in _groups(run, step, op, records):
        if not group and op.policy.on != "completion":
            continue
        try:
            arguments = {
                name: _argument(run, what, index, group) for index, (name, what) in enumerate(op.call.arguments)
            }
        except Failed as failure:
            run.dead_group(step, NO_KEY, None, failure)
            continue
        run.result.instructions.append(Published(step.id, op.call.unit, arguments))


def _argument(run: Run, what: object, index: int, group: list[tuple[Given, ...]]) -> object:
    if isinstance(what, Aggregate):
        return aggregate(run, what, [values[index] for values in group])
    return evaluate(what, {}, run.parameters)  # type: ignore[arg-type]


def _groups(run: Run, step: Step, op: Publish, records: Sequence[Record]) -> Iterator[list[tuple[Given, ...]]]:
    """The records' argument values, cut where an instruction is sent."""
    policy = op.policy
    if policy.on == "window_close":
        yield from _windows(run, step, op, records)
        return
    waiting: list[tuple[Given, ...]] = []
    last: dict[object, int] = {}

    def looked_at(record: Record) -> tuple[tuple[Given, ...], bool, object]:
        values = _values(run, step, op, record)
        due = policy.when is not None and run.apply(policy.when, record.value) is True
        key = run.apply(policy.key, record.value) if due and policy.key is not None else None
        return values, due, key if policy.key is None else order_key(key, policy.key.body.type)

    def rested(record: Record, key: object) -> bool:
        if policy.throttle_us is None:
            return True
        time = max(cast("int", record.time), record.watermark)
        if key in last and time < last[key] + policy.throttle_us:
            return False
        last[key] = time
        return True

    for record, (values, due, key) in run.each(step, records, looked_at):
        waiting.append(values)
        if (due and rested(record, key)) or len(waiting) == policy.every_records:
            yield waiting
            waiting = []
    if policy.on == "completion" or (policy.at_end and waiting):
        yield waiting


def _values(run: Run, step: Step, op: Publish, record: Record) -> tuple[Given, ...]:
    """Per argument what the record adds to it; a constant takes nothing."""
    element = step.takes.element
    return tuple(
        [
            given(run, each, record, record.value, element) if isinstance(each, Aggregate) else Given(None)
            for _, each in op.call.arguments
        ]
    )


def _windows(run: Run, step: Step, op: Publish, records: Sequence[Record]) -> Iterator[list[tuple[Given, ...]]]:
    closed: dict[Window, list[tuple[Given, ...]]] = {}
    for record, values in run.each(step, records, lambda record: _values(run, step, op, record)):
        closed.setdefault(cast("Window", step.window(record)), []).append(values)
    yield from (closed[window] for window in sorted(closed, key=lambda window: window[1]))
