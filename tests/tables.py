"""What tests ask of the folders of tables, and Delta tables as sinks."""

from pathlib import Path

from ghcm.expr import Get, Lambda, Var
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.sink import open_writer, read
from ghcm.source import Origin
from ghcm.spg.connectors import Mode, Parquet
from ghcm.spg.graph import Sink
from ghcm.tables.versions import KEPT, STAGING
from ghcm.types import Field, Int, String, Struct
from tests.redis_server import connected

WORD = Struct((Field("word", String()), Field("count", Int())), "Word")


def sink_of(
    path: Path,
    mode: Mode = Mode.APPEND,
    columns: Struct = WORD,
    key: str | None = None,
    partition: tuple[str, ...] = (),
) -> Sink:
    record = Var("r", columns)
    field = None if key is None else columns.get(key)
    given = None if field is None else Lambda((record,), Get(record, field.name, field.type))
    return Sink("table", Parquet(str(path), partition), mode, given, columns, Origin("test", 1, 1))


def writer_of(sink: Sink, writer: str = "job") -> SinkWriter:
    return open_writer(sink, connected(Path("/")), writer=writer, key=lambda row: row[0])


def add(sink: Sink, version: str, *rows: Row, writer: SinkWriter | None = None) -> None:
    used = writer or writer_of(sink)
    used.write(rows)
    used.prepare(version)
    used.commit(version)
    if writer is None:
        used.close()


def rows_in(sink: Sink, version: str | None = None) -> list[Row]:
    return sorted(read(sink, connected(Path("/")), version=version), key=repr)


def versions(count: int, run: str = "0a1b2c3d") -> list[str]:
    """Versions as the snapshots of a unit have them."""
    return [f"job-main-out-{number:010d}-{run}" for number in range(1, count + 1)]


def left_behind(folder: Path) -> list[Path]:
    """What writers have left staged in tables anywhere in a folder."""
    return [path for place in folder.rglob(STAGING) for path in place.iterdir() if path.name not in KEPT]
