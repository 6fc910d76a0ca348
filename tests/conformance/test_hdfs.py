"""Files, tables and snapshots in a real HDFS: what holds of a folder of this machine holds there, on both engines."""

from __future__ import annotations

import random
from collections.abc import Iterator
from io import UnsupportedOperation
from pathlib import Path
from threading import Thread

import pytest
from pyspark.sql import SparkSession

from ghcm import stores
from ghcm.errors import GhcmError
from ghcm.places import Remote
from ghcm.runtime.sinks.table_sink import TableWriter
from ghcm.spg.connectors import Mode, Parquet
from tests.conformance.spark_runs import run_on_spark
from tests.conformance.test_spark_places import program
from tests.hdfs_server import hdfs_server, new_folder
from tests.system.place_runs import FLOW, PROGRAM, given, killed_and_gone_on, lines, opened_rows, put, rows_in

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[Remote]:
    with hdfs_server() as found:
        yield found


@pytest.fixture
def home(server: Remote) -> Remote:
    return new_folder(server)


def test_a_file_is_there_when_it_is_whole(home: Remote) -> None:
    system, path = stores.file_system(f"{home}/a.json")
    with system.open_output_stream(path, compression=None) as stream:
        stream.write(b"first\n")
        assert (home.files(), home.iterdir()) == ([], [])
        stream.write(b"second\n")
    assert home.files() == [f"{home}/a.json"]
    assert (home / "a.json").read_bytes() == b"first\nsecond\n"
    (home / "a.json").copy(home / "b.json")
    assert (home / "b.json").stat().st_size == 13
    assert (home / "b.json").stat().st_mtime >= (home / "a.json").stat().st_mtime > 0
    (home / "a.json").unlink()
    (home / "a.json").unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        (home / "a.json").unlink()
    with pytest.raises(UnsupportedOperation, match="not added to"):
        system.open_append_stream(f"{path}", compression=None)
    home.remove()
    assert not home.exists()


def test_kill_9_and_a_restart_elsewhere_lose_and_double_nothing(home: Remote, tmp_path: Path) -> None:
    for number in range(4):
        put(home / "in" / f"{number}.json", lines(range(number * 1500, number * 1500 + 1500)))
    source = tmp_path / "p.istream"
    source.write_text(PROGRAM.replace("PLACE", str(home)))
    killed_and_gone_on(source, home, tmp_path, random.Random(5), kills=3)
    text, wanted = source.read_text(), [(number, f"h{number % 13}") for number in range(6000)]
    assert rows_in(text, "flows", tmp_path) == sorted(opened_rows(home / "flows")) == wanted
    assert rows_in(text, "plain", tmp_path) == wanted[::10]
    assert rows_in(text, "latest", tmp_path) == sorted({row[1]: row for row in wanted[::7]}.values())


def test_of_two_that_commit_at_once_none_is_lost(home: Remote) -> None:
    failed = list[Exception]()

    def write(name: str) -> None:
        try:
            writer = TableWriter(home / "t", Parquet(""), FLOW, Mode.APPEND, name)
            for number in range(5):
                writer.write([(number, name)])
                writer.prepare(f"{name}-{number}")
                writer.commit(f"{name}-{number}")
            writer.close()
        except Exception as error:
            failed.append(error)

    threads = [Thread(target=write, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sorted(opened_rows(home / "t")) == sorted((number, name) for number in range(5) for name in ("one", "two"))


def test_spark_reads_and_writes_there(home: Remote, spark: SparkSession, tmp_path: Path) -> None:
    put(home / "in" / "a.json", lines(range(1000)))
    made = program(
        tmp_path,
        f"""record Flow {{ id: int, host: string }}
sink flows = parquet("{home}/flows", mode = append)
sink plain = files("{home}/plain", format = json, mode = append)

batch copy {{
  files("{home}/in/*.json").as(Flow).to(flows)
}}

batch again {{
  flows.read().filter(f => f.id < 100).to(plain)
}}
""",
    )
    for call in ("first", "first"):  # a call that comes again writes nothing again
        run_on_spark(spark, made, "copy", tmp_path, call=call)
    run_on_spark(spark, made, "again", tmp_path, call="second")
    wanted = [(number, f"h{number % 13}") for number in range(1000)]
    assert sorted(opened_rows(home / "flows")) == wanted
    text = (tmp_path / "places.istream").read_text()
    assert rows_in(text, "plain", tmp_path) == wanted[:100]


def failure(folder: Path, source: str, sink: str) -> str:
    text = f"program p\nrecord F {{ id: int }}\nsink o = {sink}\nstream s {{ {source}.to(o) }}"
    with pytest.raises(GhcmError) as error:
        given(folder, text)
    return str(error.value)


def test_what_is_wrong_is_said(home: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = failure(tmp_path, f'files("{home}/in/*.json").as(F)', 'files("out")')
    assert f'cannot read files "{home}/in/*.json": no' in said
    said = failure(tmp_path, 'files("hdfs://127.0.0.1:9/in.json").as(F)', 'files("out")')
    assert 'cannot read "hdfs://127.0.0.1:9/in.json": Connection refused' in said
    assert "[s3]" not in said
    put(home / "in" / "a.json", b"{}")
    monkeypatch.setenv("HADOOP_USER_NAME", "stranger")
    stores.forget()
    try:
        said = failure(tmp_path, "memory([F { id: 1 }])", f'files("{home}/out")')
    finally:
        monkeypatch.undo()
        stores.forget()
    assert "the store refuses" in said
    assert "[s3]" not in said
