"""What a run shows of sinks: each version once, dead letters counted."""

from pathlib import Path

from ghcm.cli.run_report import Sinks, dead_letters, first_reason, where
from ghcm.runtime.data.dead_letter import DEAD_LETTER
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.sink import open_writer
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Format, Memory, Mode, Redis
from ghcm.spg.graph import Forward, Input, Program, Sink, Task, Unit
from ghcm.spg.ops import Source, To
from ghcm.types import Collection, Field, Int, Shape, Struct
from tests.conformance.live_runs import checked
from tests.redis_server import connected

HERE = Origin("p", 1, 1)
ROW = Struct((Field("n", Int()),))
KEYED = """program keyed
record Best { k: string, n: int }
sink best = parquet("best", mode = upsert, key = b => b.k)
stream u { files("in.jsonl", format = json).as(Best).to(best) }
"""


def program(mode: Mode = Mode.APPEND) -> Program:
    rows = Collection(Shape.STREAM, ROW, bounded=True)
    tasks = (
        Task("rows", Source(Memory(((1,),))), (), rows, HERE),
        Task("out.to", To("out"), (Input("rows", Forward()),), rows, HERE),
    )
    sinks = (
        Sink("out", Files("out", Format("json")), mode, None, ROW, HERE),
        Sink("unwritten", Files("other", Format("json")), mode, None, ROW, HERE),
    )
    return Program("p", (), sinks, (Unit("u", "stream", False, (), None, tasks, HERE),))


def write(found: Program, connections: Connections, version: str, *numbers: int) -> None:
    writer = open_writer(found.sink("out"), connections, writer="w")
    writer.write([(number,) for number in numbers])
    writer.prepare(version)
    writer.commit(version)
    writer.close()


def test_every_version_is_news_once(tmp_path: Path) -> None:
    connections, found = connected(tmp_path), program()
    write(found, connections, "before", 0)
    sinks = Sinks(found, connections)
    assert sinks.skip_tables() == {"out": 1}
    assert list(sinks.look()) == []
    write(found, connections, "a", 1, 2)
    write(found, connections, "b", *range(10))
    first, second = sinks.look()
    assert (first.sink, first.version, first.rows, first.sample) == ("out", "a", 2, [{"n": 1}, {"n": 2}])
    assert (second.rows, len(second.sample)) == (10, 5)
    assert list(sinks.look()) == []


def test_a_version_that_was_not_read_to_its_end_is_looked_at_again(tmp_path: Path) -> None:
    connections, found = connected(tmp_path), program()
    sinks = Sinks(found, connections)
    write(found, connections, "a", 1, 2)
    (file,) = (tmp_path / "out").glob("*.json")
    file.rename(tmp_path / "away")
    write(found, connections, "b", 3)
    assert [(news.version, news.rows) for news in sinks.look()] == [("b", 1)]
    assert sinks.totals() == {"out": 1}
    (tmp_path / "away").rename(file)
    assert [(news.version, news.rows) for news in sinks.look()] == [("a", 2)]
    assert sinks.totals() == {"out": 3}


def test_rows_of_a_table_by_key_are_those_that_it_keeps(tmp_path: Path) -> None:
    found, connections = checked(KEYED), connected(tmp_path)
    sinks = Sinks(found, connections)
    writer = open_writer(found.sink("best"), connections, writer="w")
    for version, row in (("a", ("x", 1)), ("b", ("y", 1)), ("c", ("x", 2))):
        writer.write([row])
        writer.prepare(version)
        writer.commit(version)
    writer.close()
    assert [news.rows for news in sinks.look()][-1] is None
    assert sinks.totals() == {"best": 2}


def test_dead_letters_are_counted_by_unit(tmp_path: Path) -> None:
    assert dead_letters(tmp_path) == {}
    letters = Sink("out", Files("p/u", Format("json")), Mode.APPEND, None, ROW, HERE)
    for version in ("a", "b"):
        writer = open_writer(letters, connected(tmp_path), writer="w")
        writer.write([(1,), (2,)])
        writer.prepare(version)
        writer.commit(version)
        writer.close()
    assert dead_letters(tmp_path) == {"u": 4}


def test_what_is_replaced_is_not_kept(tmp_path: Path) -> None:
    connections, found = connected(tmp_path), program(Mode.REPLACE)
    write(found, connections, "before", 0)
    assert Sinks(found, connections).skip_tables() == {}


def test_the_first_dead_letter_says_why(tmp_path: Path) -> None:
    assert first_reason(tmp_path / "none") == ""
    letters = Sink("out", Files("u", Format("json")), Mode.APPEND, None, DEAD_LETTER, HERE)
    writer = open_writer(letters, connected(tmp_path), writer="w")
    writer.write([("u", "t", "bad_record", f"line {n}", "x", "p:1:1") for n in (3, 4)])
    writer.prepare("a")
    writer.commit("a")
    writer.close()
    assert first_reason(tmp_path / "u") == "line 3"


def test_places_in_words() -> None:
    files, hash_ = program().sinks[0], Sink("r", Redis("a:b"), Mode.REPLACE, None, ROW, HERE)
    assert [where(files), where(hash_)] == ["out", "redis a:b:<version>"]
