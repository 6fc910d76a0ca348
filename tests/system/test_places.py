"""Programs whose files and tables are in a store that speaks S3: the same rows as on this machine, whoever writes."""

from __future__ import annotations

import gzip
import json
from contextlib import nullcontext
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ghcm import stores
from ghcm.places import Place, beside
from ghcm.runtime.formats.file_pieces import FIRST_PIECE
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.table_sink import TableWriter, table_of
from ghcm.runtime.sources import table as table_source
from ghcm.runtime.sources.files import FilesSource, FollowSource
from ghcm.spg.connectors import Files, Format, Mode, Parquet, Table
from ghcm.tables import delta
from tests.conformance.live_runs import checked
from tests.object_store import ObjectStore
from tests.system.place_runs import FLOW, PROGRAM, given, lines, opened_rows, put, rows_in
from tests.tables import versions
from tests.unit.runtime.formats.decoding import drain


@pytest.fixture(params=["here", "store"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A folder of this machine, and a bucket: what holds of one holds of the other."""
    if request.param == "here":
        return tmp_path / "data"
    found = request.getfixturevalue("store")
    assert isinstance(found, ObjectStore)
    return found.bucket()


# --- the same as on this machine --------------------------------------------------------------------------------------


def test_a_program_gives_the_same_rows(home: Place, tmp_path: Path) -> None:
    program = PROGRAM.replace("PLACE", str(home))
    for number in range(3):
        put(home / "in" / f"{number}.json", lines(range(number * 1000, number * 1000 + 1000)))
    put(home / "in" / "other.txt", b"not read")
    given(tmp_path, program)
    wanted = [(number, f"h{number % 13}") for number in range(3000)]
    assert rows_in(program, "flows", tmp_path) == wanted
    assert rows_in(program, "plain", tmp_path) == wanted[::10]
    assert rows_in(program, "latest", tmp_path) == sorted({row[1]: row for row in wanted[::7]}.values())
    sinks = checked(program).sinks
    assert [list((table_of(sink, Connections(tmp_path)).path / "_ghcm").glob("[!.]*")) for sink in sinks] == [[]] * 3


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.csv.zst", "x.parquet", "x.arrow"])
def test_files_are_read_in_pieces_from_any_position(home: Place, name: str, tmp_path: Path) -> None:
    rows = [(number, f"host {number}") for number in range(20_000)]
    table = pa.table({"id": [row[0] for row in rows], "host": [row[1] for row in rows]})
    local, text = tmp_path / name, "id,host\n" + "".join(f"{number},{host}\n" for number, host in rows)
    if name.endswith(".parquet"):
        pq.write_table(table, local, row_group_size=7000)
    elif name.endswith(".arrow"):
        with pa.OSFile(str(local), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=7000)
    elif name.endswith(".zst"):
        with pa.CompressedOutputStream(str(local), "zstd") as packed:
            packed.write(text.encode())
    else:
        local.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    put(home / "in" / name, local.read_bytes())
    kind = name.split(".")[1]
    files = Files(f"{home}/in", Format(kind))
    source = FilesSource(files, FLOW, "p", tmp_path, piece=30_000)
    woken = Event()
    source.open(None, woken.set)
    found: list[Any] = []
    while len(found) < 5000:
        batch = source.poll(1000, lambda *_: None)
        if batch is None:
            woken.wait(0.01)
        else:
            found += batch.rows()
    position = json.loads(json.dumps(source.position()))
    source.close()
    again = FilesSource(files, FLOW, "p", tmp_path)
    assert found + drain(again, position)[0] == rows


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("in", ["in/a.json", "in/b.json", "in/ä.json"]),
        ("in/", ["in/a.json", "in/b.json", "in/ä.json"]),
        ("in/a.json", ["in/a.json"]),
        ("in/*", ["in/_c.json", "in/a.json", "in/b.json", "in/ä.json"]),
        ("in/[ab].json", ["in/a.json", "in/b.json"]),
        ("in/**/*.json", ["in/_c.json", "in/a.json", "in/b.json", "in/sub/d.json", "in/sub/deep/e.json", "in/ä.json"]),
        ("i*/sub/?.json", ["in/sub/d.json"]),
        ("in/sub/**", ["in/sub/d.json", "in/sub/deep/e.json"]),
        ("**/e.json", ["in/sub/deep/e.json"]),
        ("in/none*", []),
        ("no", []),
    ],
)
def test_a_path_means_the_same_files(home: Place, path: str, names: list[str], tmp_path: Path) -> None:
    from ghcm.formats.files import find_files

    for name in ("a.json", "b.json", "_c.json", ".d.json", "ä.json", "sub/d.json", "sub/deep/e.json", ".sub/f.json"):
        put(home / "in" / name, b"{}\n")
    assert find_files(f"{home}/{path}", tmp_path) == [f"{home}/{name}" for name in names]


def test_objects_are_read_when_they_appear_each_once(home: Place, tmp_path: Path) -> None:
    put(home / "in" / "b", lines(range(2)))
    files = Files(f"{home}/in/*", Format("json"), clock="continues", follow=True)
    found: list[Any] = []

    def read_on(position: object, count: int) -> object:
        woken, source = Event(), FollowSource(files, FLOW, "p", tmp_path, FIRST_PIECE)
        source.open(position, woken.set)
        while len(found) < count or source.position()["file"] is not None:  # type: ignore[index]
            woken.clear()
            batch = source.poll(100, lambda *_: None)
            if batch is not None:
                found.extend(batch.rows())
            elif len(found) < count:
                assert woken.wait(60)
        source.close()
        return json.loads(json.dumps(source.position()))

    position = read_on(None, 2)
    put(home / "in" / "c", lines(range(2, 4)))
    put(home / "in" / "a", lines(range(4, 6)))
    read_on(position, 6)
    assert [row[0] for row in found] == [0, 1, 4, 5, 2, 3]


# --- tables -----------------------------------------------------------------------------------------------------------


def test_commits_of_others_are_read_and_followed(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_source, "_LOOK_AFAR_S", 0.05)
    place = store.bucket() / "t"
    found: list[Any] = []

    def put_rows(*numbers: int) -> None:
        uri, options = stores.delta_client(place.url).values()
        rows = pa.table({"id": numbers, "host": [f"h{number}" for number in numbers]})
        deltalake.write_deltalake(uri, rows, mode="append", storage_options=options)

    def read_on(position: object, count: int) -> object:
        woken, source = Event(), table_source.TableSource(Table(place.url, follow=True), FLOW, "p", Path())
        source.open(position, woken.set)
        if position is None:
            put_rows(1, 2)  # a table that is still to come is waited for
        while len(found) < count:
            woken.clear()
            if (batch := source.poll(100, lambda *_: None)) is not None:
                found.extend(batch.rows())
            else:
                assert woken.wait(60)
        source.close()
        return json.loads(json.dumps(source.position()))

    position = read_on(None, 2)
    put_rows(3)
    put_rows(4, 5)
    read_on(position, 5)
    assert [row[0] for row in found] == [1, 2, 3, 4, 5]


def test_what_a_dead_writer_has_left_is_dropped_and_what_is_to_be_committed_is_not(store: ObjectStore) -> None:
    table = store.bucket() / "t"
    first, second = versions(2)

    def writer() -> TableWriter:
        return TableWriter(table, Parquet(""), FLOW, Mode.APPEND, "job/t")

    dead = writer()
    for number, version in enumerate((first, second)):
        dead.write([(number, "x")])
        dead.prepare(version)
    dead.write([(2, "lost")])
    assert len(list(beside(table).glob(".open-*"))) == 1
    next_one = writer()
    next_one.recover(keep=[first])
    assert list(beside(table).glob(".open-*")) == []
    assert next_one.commit(first).rows == 1
    assert next_one.commit(first).rows == 1
    assert list(opened_rows(table)) == [(0, "x")]
    assert (table / "_ghcm").iterdir() == []
    next_one.close()


def test_what_a_job_is_just_writing_is_not_taken_for_what_is_left(store: ObjectStore) -> None:
    bucket = store.bucket()
    table = bucket / "t"
    (table / "_ghcm" / "call" / "part-1.parquet").write_bytes(b"a job of Spark is at it, and has no note")
    writer = TableWriter(table, Parquet(""), FLOW, Mode.APPEND, "job/t")
    writer.recover()
    writer.close()
    assert store.keys(bucket) == ["t/_ghcm/call/part-1.parquet"]


def test_a_vacuum_takes_nothing_that_is_prepared(store: ObjectStore) -> None:
    table = store.bucket() / "t"
    writer = TableWriter(table, Parquet(""), FLOW, Mode.APPEND, "job/t")
    first, second = versions(2)
    writer.write([(1, "a")])
    writer.prepare(first)
    writer.commit(first)
    writer.write([(2, "b")])
    writer.prepare(second)
    opened = deltalake.DeltaTable(**stores.delta_client(table.url))
    opened.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
    assert writer.commit(second).rows == 1
    assert sorted(opened_rows(table)) == [(1, "a"), (2, "b")]


def test_files_that_columns_divide(store: ObjectStore, tmp_path: Path) -> None:
    place, rows = store.bucket() / "t", [(1, "a/b =%20 ü"), (2, "x"), (3, "a/b =%20 ü")]
    program = f"""program divided
record Flow {{ id: int, host: string }}
sink flows = parquet("{place}", mode = append, partition = r => r.host)
stream s {{ memory([{", ".join(f'Flow {{ id: {id}, host: "{host}" }}' for id, host in rows)}]).to(flows) }}
"""
    given(tmp_path, program)
    assert rows_in(program, "flows", tmp_path) == rows
    assert sorted(opened_rows(place)) == rows


def test_of_machines_that_write_at_once_none_undoes_the_other(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread is a machine of its own, whose locks hold no other."""
    place, hosts, failed = store.bucket() / "t", [f"h{number}" for number in range(5)], list[Exception]()
    monkeypatch.setattr(delta, "alone", lambda _: nullcontext())
    monkeypatch.setattr(delta, "machine", lambda: hash(current_thread().name))
    monkeypatch.setattr(delta, "_MANY", 2)
    monkeypatch.setattr(
        delta.DeltaTable, "untidy", property(lambda _: False, lambda *_: None), raising=False
    )  # else of one name

    def write(mode: Mode, version: str, *given: str) -> None:
        writer = TableWriter(place, Parquet(""), FLOW, mode, version, ["host"])
        writer.write([(0, host) for host in given])
        writer.prepare(version)
        writer.commit(version)
        writer.close()

    def run() -> None:
        name = current_thread().name
        try:
            for number in range(2):
                write(Mode.APPEND, f"{name}-{number}", f"{name}-{number}")
                delta.DeltaTable(place).tidy()
                write(Mode.UPSERT, f"{name}-{number}-all", *hosts)
        except Exception as error:
            failed.append(error)

    threads = [Thread(target=run, name=f"w{number}") for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    wanted = [*hosts, *(f"w{w}-{n}" for w in range(3) for n in range(2))]
    assert sorted(host for _, host in opened_rows(place)) == wanted
    history = [each["operation"] for each in deltalake.DeltaTable(**stores.delta_client(place.url)).history()]
    assert "OPTIMIZE" in history
