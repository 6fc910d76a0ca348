"""Which engine takes a call, asked when it begins: the one that its caller names, else the native engine what is small,
and Spark what is not.

Files count by their bytes as they lie there, rows of sinks, tables and generators by their number. What cannot be told
without reading it counts as large.
"""

from collections.abc import Sequence

from ghcm.errors import GhcmError, listed
from ghcm.formats.files import find_files
from ghcm.places import place
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Instruction
from ghcm.runtime.sinks.sink import count
from ghcm.spg.connectors import Files, Generate, Kafka, Memory, Socket, SourceConnector, SqlQuery, Table, text_of
from ghcm.spg.graph import Program, Unit, all_tasks
from ghcm.spg.ops import ReadSink, Source
from ghcm.types import Struct

MOST_BYTES = 64 * 1024 * 1024
MOST_ROWS = 1_000_000


def refuse_other_engine(unit: str, engines: Sequence[str], asked: str) -> None:
    """GhcmError where a call asks for an engine, and the unit does not run on it."""
    if asked and asked not in engines:
        hint = "ghcm explain --engines says what keeps it from that."
        message, detail = f'unit "{unit}" does not run on {asked}', f"It runs on {listed(engines)}."
        raise GhcmError(message, code="GHCM-320", detail=detail, hint=hint)


def too_large(program: Program, unit: Unit, instruction: Instruction, connections: Connections) -> str:
    """Why a call is not one for the native engine, in words; empty where its input is small. Blocks."""
    size, rows = 0, 0
    for task in all_tasks(unit):
        if isinstance(task.op, ReadSink):
            rows += count(program.sink(task.op.sink), connections, version=instruction.versions.get(task.op.sink))
        elif isinstance(task.op, Source) and isinstance(task.op.connector, SourceConnector):
            found = _size(task.op.connector, task.schema, connections)
            if found is None:
                return f"nobody knows how much there is in {text_of(task.op.connector)}"
            size, rows = size + found[0], rows + found[1]
    if size > MOST_BYTES:
        return f"its files have {size:,} bytes, and the native engine takes {MOST_BYTES:,}"
    return f"its input has {rows:,} rows, and the native engine takes {MOST_ROWS:,}" if rows > MOST_ROWS else ""


def _size(connector: SourceConnector, schema: Struct, connections: Connections) -> tuple[int, int] | None:
    """Bytes and rows of a source; None where nobody knows."""
    base = connections.base
    match connector:
        case Files(path=path):
            return sum(place(base, file).stat().st_size for file in find_files(path, base)), 0
        case Table():
            from ghcm.tables.reading import OpenTable  # large, and few programs need it

            try:
                table = OpenTable(
                    place(base, connector.path), connector.path, schema, connector.version, connector.time_us
                )
            except GhcmError:  # whoever reads it says what is wrong with it
                return 0, 0
            return table.bytes, 0
        case Memory(rows=rows):
            return 0, len(rows)
        case Generate(rows=rows):
            return None if rows is None else (0, rows)
        case Kafka() | Socket() | SqlQuery():
            return None
