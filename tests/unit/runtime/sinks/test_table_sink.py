"""Tables of files under crashes, concurrent writers, full disks and foreign data."""

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.table_sink import TableWriter, read
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Format, Mode, Parquet
from ghcm.spg.graph import Sink
from ghcm.tables.delta import DeltaTable
from ghcm.tables.plain import PlainTable
from ghcm.tables.versions import KEPT_US
from ghcm.types import Field, Int, Nullable, String, Struct, Timestamp
from tests.redis_server import connected
from tests.tables import left_behind

COLUMNS = Struct((Field("name", String()), Field("count", Int())))
JSON = Files("", Format("json"))
KINDS: dict[str, Files | Parquet] = {"json": JSON, "parquet": Parquet("")}

WRITER = """
import os, sys
from pathlib import Path
from ghcm.runtime.sinks.table_sink import TableWriter
from ghcm.spg.connectors import Mode

from ghcm.spg.connectors import Files, Format, Parquet
from ghcm.types import Field, Int, String, Struct

columns = Struct((Field("name", String()), Field("count", Int())))
kinds = {"json": Files("", Format("json")), "parquet": Parquet("")}
def table(path, writer, kind="json"):
    return TableWriter(Path(path), kinds[kind], columns, Mode.APPEND, writer)
"""


def table(path: Path, writer: str = "w", mode: Mode = Mode.APPEND, connector: Files | Parquet = JSON) -> SinkWriter:
    return TableWriter(path, connector, COLUMNS, mode, writer)


def read_table(path: Path, connector: Files | Parquet, columns: Struct, version: str | None) -> Iterator[Row]:
    sink = Sink("table", replace(connector, path=str(path)), Mode.APPEND, None, columns, Origin("test", 1, 1))
    return read(sink, connected(path), version=version, call=None)


def rows(path: Path, version: str | None = None, connector: Files | Parquet = JSON) -> list[tuple[object, ...]]:
    return list(read_table(path, connector, COLUMNS, version))


def table_of(path: Path, connector: Files | Parquet) -> DeltaTable | PlainTable:
    return DeltaTable(path) if isinstance(connector, Parquet) else PlainTable(path)


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WRITER + code, *arguments], capture_output=True, text=True, check=False
    )


def add(
    path: Path, version: str, *values: tuple[str, int], mode: Mode = Mode.APPEND, connector: Files | Parquet = JSON
) -> None:
    writer = table(path, mode=mode, connector=connector)
    writer.write(values)
    writer.prepare(version)
    writer.commit(version)
    writer.close()


def leftovers(path: Path) -> list[str]:
    return sorted(found.name for found in left_behind(path))


# Each stands for a process that dies at that moment: it never gets further, and runs no handler of its own. What is
# named is what it is about to do; whether the version was prepared, and whether it can be seen already.
CRASHES = {
    "while it writes": ("table_sink.DataFile", False, False),
    "before it is prepared": ("staging.write_note", False, False),
    "when it is prepared": ("TableWriter.commit", True, False),
    "before files are linked": ("tables.link", True, False),
    "before the folder is brought to disk": ("tables.sync", True, None),
    "before the log is told": ("DeltaTable._commit_log", True, False),
    "before it is noted as done": ("shutil.rmtree", True, True),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", CRASHES)
def test_a_crash_at_any_moment_loses_nothing_and_shows_nothing_half(moment: str, kind: str, tmp_path: Path) -> None:
    (target, prepared, visible), connector = CRASHES[moment], KINDS[kind]
    path = tmp_path / "t"
    add(path, "v0", ("before", 0), connector=connector)
    died = run(
        f"""
import ghcm.tables.delta, ghcm.tables.plain
from ghcm.runtime.sinks import staging, table_sink
tables = ghcm.tables.{"delta" if kind == "parquet" else "plain"}
writer = table(sys.argv[1], "job/t", {kind!r})
def die(*_, **__): os.kill(os.getpid(), 9)
if {target!r} == "table_sink.DataFile":
    writer.write([("new", 1)] * 1000)
    die()
writer.write([("new", 1)] * 1000)
if {target!r} == "staging.write_note":
    staging.write_note = die
writer.prepare("v1")
if {target!r} == "DeltaTable._commit_log":
    deltalake = ghcm.tables.delta.deltalake()
    deltalake.DeltaTable.create_write_transaction = die
elif {target!r} == "TableWriter.commit":
    die()
elif {target!r} == "shutil.rmtree":
    staging.shutil.rmtree = die
else:
    setattr(tables, {target!r}.rpartition(".")[2], die)
writer.commit("v1")
die()
""",
        str(path),
    )
    assert died.returncode == -signal.SIGKILL, died.stderr
    seen, whole = rows(path, connector=connector), [("before", 0), *[("new", 1)] * 1000]
    assert seen in ([[("before", 0)], whole] if visible is None else [whole if visible else [("before", 0)]]) or (
        kind == "json" and moment == "before the log is told"
    )

    writer = table(path, "job/t", connector=connector)
    writer.recover(keep={"v1"})
    if prepared:
        assert writer.commit("v1").rows == 1000
        assert writer.commit("v1").rows == 1000
        assert rows(path, connector=connector) == whole
    else:
        assert rows(path, connector=connector) == [("before", 0)]
    assert leftovers(path) == []
    assert {file.name for file in path.iterdir() if file.is_file()} == {
        file.name for file in table_of(path, connector).live()
    }
    writer.close()


DIES = "Path.rename = lambda *_: os.kill(os.getpid(), 9)"


@pytest.mark.parametrize(("before", "after"), [("", 'writer.write([("b", 2)])\nos.kill(os.getpid(), 9)'), (DIES, "")])
def test_what_a_dead_writer_prepared_and_nobody_commits_is_dropped(tmp_path: Path, before: str, after: str) -> None:
    text = f'writer = table(sys.argv[1], "job/t")\nwriter.write([("a", 1)])\n{before}\nwriter.prepare("v1")\n{after}\n'
    run(text, str(tmp_path))
    assert leftovers(tmp_path) != []
    table(tmp_path, "job/t").recover()
    assert leftovers(tmp_path) == []
    assert rows(tmp_path) == []


def test_dropping_a_version_leaves_others_of_a_similar_name(tmp_path: Path) -> None:
    add(tmp_path, "v-1", ("kept", 1))
    writer = table(tmp_path)
    writer.write([("dropped", 1)])
    writer.prepare("v")
    writer.abort("v")
    writer.close()
    assert rows(tmp_path) == [("kept", 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_version_that_is_prepared_again_is_not_committed_again(kind: str, tmp_path: Path) -> None:
    first, second = (f"job-main-out-{number:010d}-1f2e3d4c" for number in (1, 2))
    for versions in (first, second, first, "call", "call"), (second, first, "call"):
        writer = table(tmp_path, connector=KINDS[kind])
        for version in versions:
            writer.write([(version, 1)])
            writer.prepare(version)
            writer.commit(version)
        writer.close()
    assert rows(tmp_path, connector=KINDS[kind]) == [(first, 1), (second, 1), ("call", 1)]


def test_recovery_leaves_the_living_alone(tmp_path: Path) -> None:
    living = table(tmp_path, "job-1/t")
    living.write([("a", 1)])
    other = table(tmp_path, "job-2/t")
    other.recover()
    living.prepare("v1")
    other.recover()
    living.commit("v1")
    living.close()
    assert rows(tmp_path) == [("a", 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_processes_that_commit_at_once_lose_nothing(kind: str, tmp_path: Path) -> None:
    code = (
        WRITER
        + """
name = sys.argv[2]
writer = table(sys.argv[1], name, sys.argv[3])
sys.stdin.read()
for n in range(15):
    writer.write([(name, n)])
    writer.prepare(f"{name}-{n}")
    writer.commit(f"{name}-{n}")
    writer.recover()
writer.close()
"""
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), f"w{n}", kind], stdin=subprocess.PIPE)
        for n in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    assert [process.wait() for process in processes] == [0] * 4
    found = rows(tmp_path, connector=KINDS[kind])
    assert sorted(found) == sorted((f"w{w}", n) for w in range(4) for n in range(15))
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_an_error_and_nothing_is_half_visible(kind: str, tmp_path: Path) -> None:
    add(tmp_path, "v0", ("before", 0), connector=KINDS[kind])
    failed = run(
        """
import resource
from ghcm.errors import GhcmError
writer = table(sys.argv[1], "job/t", sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    for _ in range(1000):
        writer.write([(os.urandom(50).hex(), 1) for _ in range(1000)])
    writer.prepare("v1")
except GhcmError as error:
    print(error)
writer.close()
""",
        str(tmp_path),
        kind,
    )
    assert "error[GHCM-731]: there is no room to write to" in failed.stdout, failed
    assert failed.stderr == ""
    assert rows(tmp_path, connector=KINDS[kind]) == [("before", 0)]
    assert leftovers(tmp_path) == []


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    writer = table(tmp_path / "file" / "t")
    with pytest.raises(GhcmError, match="cannot write to"):
        writer.write([("a", 1)])
    writer.close()


def test_replaced_versions_stay_for_an_hour(tmp_path: Path) -> None:
    for number in range(3):
        add(tmp_path, f"v{number}", (f"n{number}", number), mode=Mode.REPLACE)
    assert rows(tmp_path, "v0") == [("n0", 0)]
    assert [json.loads(file.read_text())["name"] for file in tmp_path.glob("*.json")] == ["n2"]
    for file in [*tmp_path.glob("*.json"), *(tmp_path / "_ghcm/.kept").iterdir()]:  # as if all that had been long ago
        _, time, more = file.name.split("-", 2)
        file.rename(file.with_name(f"whole-{int(time) - KEPT_US - 1_000_000:016d}-{more}"))
    add(tmp_path, "v3", ("n3", 3), mode=Mode.REPLACE)
    with pytest.raises(GhcmError, match='has no version "v0"'):
        rows(tmp_path, "v0")
    assert rows(tmp_path, "v2") == [("n2", 2)]
    assert rows(tmp_path) == [("n3", 3)]
    assert [json.loads(file.read_text())["name"] for file in tmp_path.glob("*.json")] == ["n3"]


@pytest.mark.parametrize("kind", KINDS)
def test_appending_goes_on_after_a_replacement(kind: str, tmp_path: Path) -> None:
    connector = KINDS[kind]
    add(tmp_path, "v1", ("a", 1), connector=connector)
    add(tmp_path, "v2", ("b", 2), mode=Mode.REPLACE, connector=connector)
    add(tmp_path, "v3", ("c", 3), connector=connector)
    assert rows(tmp_path, connector=connector) == [("b", 2), ("c", 3)]
    assert rows(tmp_path, "v1", connector) == [("a", 1)]


def test_a_version_of_which_files_are_missing_is_not_seen(tmp_path: Path) -> None:
    add(tmp_path, "v1", ("a", 1))
    add(tmp_path, "v2", ("b", 2))
    (newest,) = tmp_path.glob("part-*-v2-*")
    newest.rename(newest.with_name(newest.name.replace("of-00001", "of-00002")))
    assert rows(tmp_path) == [("a", 1)]
    add(tmp_path, "v2", ("b", 2), ("c", 3))
    assert rows(tmp_path) == [("a", 1), ("b", 2), ("c", 3)]
    assert len(list(tmp_path.glob("part-*"))) == 2


def test_a_long_version_is_spread_over_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghcm.runtime.sinks.table_sink._FILE_BYTES", 400_000)
    writer = table(tmp_path)
    for start in range(0, 100_000, 10_000):
        writer.write([("some name", n) for n in range(start, start + 10_000)])
    writer.prepare("v1")
    assert writer.commit("v1").rows == 100_000
    writer.close()
    (version,) = PlainTable(tmp_path).commits()
    assert len(version.files) > 3
    assert sum(file.rows for file in version.files) == 100_000
    assert rows(tmp_path) == [("some name", n) for n in range(100_000)]


# --- data of others ---------------------------------------------------------------------------------------------------


def test_a_directory_without_manifests_is_read_as_it_is(tmp_path: Path) -> None:
    columns = Struct((Field("at", Timestamp()), Field("n", Int()), Field("note", Nullable(String()))))
    table = pa.table(
        {"n": pa.array([1, 2], pa.int32()), "more": ["x", "y"], "at": pa.array([5, 6], pa.timestamp("us"))}
    )
    pq.write_table(table, tmp_path / "b.parquet")
    pq.write_table(table.slice(0, 1), tmp_path / "a.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".part.crc").write_text("junk")
    found = list(read_table(tmp_path, Parquet(""), columns, None))
    assert found == [(5, 1, None), (5, 1, None), (6, 2, None)]


def test_foreign_lines_may_hold_more_fields(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"count": 1, "name": "a", "more": [1]}\n\n{"name": "é", "count": 2}\n', "utf-8")
    assert rows(tmp_path) == [("a", 1), ("é", 2)]


def test_a_value_that_does_not_fit_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"count": 1, "name": "a"}\n{"count": "two", "name": "b"}\n')
    with pytest.raises(GhcmError) as refused:
        rows(tmp_path)
    assert "line 2 does not fit" in refused.value.message
    assert '"count": expected int, found "two"' in refused.value.detail


def test_a_long_text_of_csv_is_read_again(tmp_path: Path) -> None:
    csv = Files("", Format("csv"))
    add(tmp_path, "v1", ("x" * 200_000, 1), connector=csv)
    assert [(len(str(name)), count) for name, count in read_table(tmp_path, csv, COLUMNS, None)] == [(200_000, 1)]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('name,count\n"a",1\n"b"c,2\n', 3, "expected after"),
        ('name,count\n"a\nb",1\n"c', 4, "a quote is not closed"),
        ("name,number\na,1\n", 1, 'the header has no "count"'),
        ("name,count\na,1,2\n", 2, "3 fields, the header has 2"),
    ],
)
def test_foreign_csv_that_does_not_fit_is_named(text: str, line: int, why: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(GhcmError) as refused:
        list(read_table(tmp_path, Files("", Format("csv")), COLUMNS, None))
    assert f"line {line} does not fit" in refused.value.message
    assert why in refused.value.detail


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1]}), tmp_path / "a.parquet")
    with pytest.raises(GhcmError, match='has no column "name"'):
        list(read_table(tmp_path, Parquet(""), COLUMNS, None))


def test_foreign_data_is_not_hidden_by_a_first_commit(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"count": 1, "name": "a"}\n')
    with pytest.raises(GhcmError, match="holds files that GHCM has not written"):
        table(tmp_path)


def test_a_missing_directory_has_no_rows(tmp_path: Path) -> None:
    assert rows(tmp_path / "nowhere") == []


def test_compressed_lines_are_read(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "x.json.gz", "wt") as file:
        file.write('{"count": 1, "name": "a"}\n')
    assert rows(tmp_path) == [("a", 1)]


def test_parquet_of_spark_with_old_timestamps(tmp_path: Path) -> None:
    columns = Struct((Field("at", Timestamp()),))
    table = pa.table({"at": pa.array([-5, 1_767_323_045_000_006], pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    assert list(read_table(tmp_path, Parquet(""), columns, None)) == [(-5,), (1_767_323_045_000_006,)]
    assert os.listdir(tmp_path) == ["a.parquet"]
