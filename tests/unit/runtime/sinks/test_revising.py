"""Rows that come and go within a version: what is left of them, in whatever order they come."""

from pathlib import Path

from ghcm.expr import Get, Lambda, Var
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sinks.revising import RevisingWriter
from ghcm.runtime.sinks.sink import open_writer, read
from ghcm.source import Origin
from ghcm.spg.connectors import Mode, Parquet
from ghcm.spg.graph import Sink
from ghcm.types import Field, Int, String, Struct
from tests.redis_server import connected

WORD = Struct((Field("word", String()), Field("count", Int())))
RECORD = Var("r", WORD)
SINK = Sink(
    "words",
    Parquet("lake/words"),
    Mode.UPSERT,
    Lambda((RECORD,), Get(RECORD, "word", String())),
    WORD,
    Origin("test.istream", 1, 1),
)
VERSIONS: dict[str, tuple[list[tuple[str, Row]], list[Row]]] = {
    "v1": ([("write", ("a", 1)), ("write", ("b", 1)), ("write", ("c", 1)), ("remove", ("c", 1))], [("a", 1), ("b", 1)]),
    "v2": (
        [("write", ("a", 2)), ("remove", ("a", 1)), ("remove", ("b", 1)), ("write", ("b", 2))],
        [("a", 2), ("b", 2)],
    ),
    "v3": ([("write", ("a", 3)), ("remove", ("a", 2)), ("remove", ("a", 3))], [("b", 2)]),
}


def test_a_row_that_is_taken_back_late_does_not_take_the_next_one_along(tmp_path: Path) -> None:
    connections = connected(tmp_path)
    opened = open_writer(SINK, connections, writer="job/steps", key=lambda row: row[0])
    writer = RevisingWriter(opened, SINK, lambda row: row[0])
    for version, (steps, left) in VERSIONS.items():
        for what, row in steps:
            (writer.write if what == "write" else writer.remove)([row])
        writer.prepare(version)
        writer.commit(version)
        assert sorted(read(SINK, connections), key=repr) == left
    writer.close()
    connections.close()
