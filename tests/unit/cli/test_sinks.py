"""What `ghcm sinks`, `read`, `sql` and `dead` print of a program that has run; and what they say when they cannot."""

import json
import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import typer

from ghcm import driver
from ghcm.cli.failure import guarded
from ghcm.cli.known import known
from ghcm.cli.sinks import dead, read, sinks, sql
from ghcm.errors import GhcmError
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.data.dead_letter import table_of
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.sinks.sink import open_writer, view
from ghcm.spg.graph import Program, Sink
from ghcm.values.timestamps import timestamp_text
from tests.redis_server import connected
from tests.tables import versions

TEXT = """\
program v
record Visit { moment: timestamp, page: string, n: int, note: string? }
sink out = files("out/v", format = json, mode = append)
sink whole = parquet("out/w", mode = replace, record = Visit)
sink latest = redis("v:latest", key = v => v.page, mode = upsert, record = Visit)
stream watch {
  files("visits.jsonl", format = json).as(Visit).to(out)
}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the program has run under `ghcm run`, without a trace of what it wrote."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GHCM_REDIS", connected(tmp_path).url or "")
    (tmp_path / "v.istream").write_text(TEXT)
    state = StateDirectory(Path(".ghcm", "runs", "v"))
    store = open_store(state.store)
    store.jobs.submit("v-1", "v", "unused")
    store.close()
    state.bundle("v-1").parent.mkdir(parents=True)
    shutil.copy(driver.build(Path("v.istream")), state.bundle("v-1"))
    state.base("v-1").write_text(str(tmp_path))
    return tmp_path


def program(place: Path) -> Program:
    return driver.check(place / "v.istream")


def write(place: Path, sink: Sink, version: str, rows: Iterable[tuple[object, ...]]) -> None:
    key = None if sink.key is None else itemgetter(1)
    writer = open_writer(sink, connected(place), writer="w", key=key)
    writer.write(list(rows))
    writer.prepare(version)
    writer.commit(version)
    writer.close()


def visits(*numbers: int) -> list[tuple[object, ...]]:
    return [(10**15 + n, f"/{n}", n, None if n % 2 else "even, it is") for n in numbers]


def fail(place: Path, version: str, *letters: tuple[str, str], folder: str = ".ghcm/runs/v/dead") -> None:
    table = table_of(place / folder / "v" / "watch")
    write(place, table, version, [("watch", "as", reason, detail, "{x", "v.istream:7:3") for reason, detail in letters])


def printed(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_sinks_are_listed_with_rows_and_commits(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = program(place)
    write(place, made.sink("out"), "a", visits(1, 2))
    write(place, made.sink("out"), "b", visits(3))
    write(place, made.sink("latest"), "l1", visits(1, 2))
    write(place, made.sink("latest"), "l2", visits(2))
    fail(place, "a", ("bad_record", "no JSON"))
    sinks("v", json=True)
    (found,) = printed(capsys)
    assert [(each["sink"], each["rows"], each["version"]) for each in found["sinks"]] == [
        ("out", 3, "b"),
        ("whole", 0, None),
        ("latest", 2, "l2"),
    ]
    assert found["dead_letters"] == {"watch": 1}
    sinks("v.istream")
    said = capsys.readouterr()
    assert [line.split()[:4] for line in said.out.splitlines()][1] == ["out", "out/v", "append", "3"]
    assert "watch: 1 dead letters" in said.err


def test_keys_for_other_applications_show_their_commits_and_no_rows(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "f.istream").write_text(
        "program f\nrecord Page { page: string, n: int }\n"
        'sink pages = redis("page:{page}", form = hash, record = Page)\n'
        'stream watch { files("pages.jsonl", format = json).as(Page).to(pages) }\n'
    )
    writer = open_writer(
        driver.check(place / "f.istream").sink("pages"), connected(place), writer="w", key=lambda row: f"page:{row[0]}"
    )
    writer.write([("/", 1), ("/docs", 2)])
    writer.prepare("v1")
    writer.commit("v1")
    sinks("f.istream", json=True)
    (shown,) = printed(capsys)[0]["sinks"]
    assert (shown["where"], shown["mode"], shown["version"]) == ("redis page:{page}", "upsert", "v1")
    assert "rows" not in shown
    with pytest.raises(typer.Exit):
        guarded(read)("f.istream", "pages")
    assert 'sink "pages" cannot be read' in refused(capsys)


def test_rows_are_read_as_lines_csv_and_table(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(place, program(place).sink("out"), "a", visits(1, 2))
    read("v", "out", json=True)
    first, second = printed(capsys)
    assert first == {"moment": "2001-09-09T01:46:40.000001Z", "page": "/1", "n": 1, "note": None}
    assert second["note"] == "even, it is"
    read("v", "out", csv=True)
    assert capsys.readouterr().out.splitlines()[2] == '2001-09-09T01:46:40.000002Z,/2,2,"even, it is"'
    read("v", "out")
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["page", "/1", "/2"]


def test_a_condition_a_version_and_a_limit_choose(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = program(place).sink("out")
    write(place, out, "a", visits(1, 2, 3))
    write(place, out, "b", visits(4, 5))
    read("v", "out", where='n > 1 and note is not null and note.contains("even")', json=True)
    assert [each["n"] for each in printed(capsys)] == [2, 4]
    read("v", "out", at="a", json=True)
    assert [each["n"] for each in printed(capsys)] == [1, 2, 3]
    commits = view(out, connected(place)).commits()
    read("v", "out", at=timestamp_text(commits[0].time), json=True)
    assert len(printed(capsys)) == (3 if commits[0].time < commits[1].time else 5)
    read("v", "out", at="9999-01-01", json=True)
    assert len(printed(capsys)) == 5
    with pytest.raises(GhcmError, match='sink "out" has no version of 2026-01-02T03:04:05'):
        read("v", "out", at="2026-01-02T03:04:05")
    read("v", "out", where="n > 1", limit=2, json=True)
    assert [each["n"] for each in printed(capsys)] == [2, 3]
    write(place, out, "c", visits(*range(6, 1200)))
    read("v", "out")
    said = capsys.readouterr()
    assert (len(said.out.splitlines()), "these are the first 1000" in said.err) == (1001, True)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("nn > 1", 'did you mean "n"?'),
        ("n >", "expected an expression"),
        ("n", 'the condition is "int" and not "bool"'),
        ("10 / (n - 1) > 2", "the condition fails for a row"),
    ],
)
def test_a_wrong_condition_is_shown(
    place: Path, capsys: pytest.CaptureFixture[str], condition: str, message: str
) -> None:
    write(place, program(place).sink("out"), "a", visits(1))
    with pytest.raises(typer.Exit) as ended:
        guarded(read)("v", "out", where=condition)
    said = refused(capsys)
    assert (ended.value.exit_code, message in said) == (2, True), said
    assert "fails" in message or f" 1 | {condition}" in said


def test_what_is_not_there_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read("v", "out")
    assert 'no unit has committed to "out" yet' in refused(capsys)
    for look, code, message in (
        (partial(read, "w", "out"), 2, 'there are "v"'),
        (partial(read, "v", "otu"), 2, 'did you mean "out"?'),
        (partial(read, "u.istream", "out"), 2, 'there is no program "u.istream"'),
        (partial(read, "v", "out", at="gone"), 1, 'has no version "gone"'),
        (partial(read, "v", "latest", at="gone"), 1, 'has no version "gone"'),
    ):
        with pytest.raises(typer.Exit) as ended:
            guarded(look)()
        said = refused(capsys)
        assert (ended.value.exit_code, message in said) == (code, True), said


def test_a_private_redis_is_there_while_its_daemon_runs(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GHCM_REDIS")
    with pytest.raises(typer.Exit):
        guarded(read)("v", "latest")
    assert "GHCM-720" in refused(capsys)
    write(place, program(place).sink("out"), "a", visits(1, 2))
    with pytest.raises(typer.Exit) as ended:
        guarded(sinks)("v")  # the others are listed
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines()] == ["sink", "out", "whole", "latest"]
    assert "latest: there is no Redis: set GHCM_REDIS" in said.err
    assert ended.value.exit_code == 1


def test_what_ran_on_the_services_is_looked_at_with_them(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {name: value for name, value in os.environ.items() if not name.startswith("GHCM_")}
    monkeypatch.setattr(os, "environ", others | {"GHCM_PROFILE": "services"})
    assert known("v", None)[1].kafka.bootstrap == ""  # they have not been started, and a table needs none
    running = {"pid": os.getpid(), "started": psutil.Process().create_time(), "password": "secret"}
    (place / ".ghcm" / "services").mkdir()
    noted = json.dumps({"kafka": {**running, "port": 1}, "redis": {**running, "port": 2}})
    (place / ".ghcm" / "services" / "services.json").write_text(noted)
    served = ("127.0.0.1:1", "redis://:secret@127.0.0.1:2/0")
    connections = known("v", None)[1]
    assert (connections.kafka.bootstrap, connections.url) == served
    monkeypatch.setattr(os, "environ", others)  # as an option says it
    connections = known("v", None, "services")[1]
    assert (connections.kafka.bootstrap, connections.url) == served


def test_what_comes_is_followed(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = program(place)
    out = made.sink("out")
    write(place, out, "a", visits(1, 2))
    write(place, made.sink("latest"), "a", visits(1, 2))
    pauses = iter([partial(write, place, out, "b", visits(3, 4)), partial(write, place, out, "c", visits(5))])

    def pause(_: float) -> None:
        next(pauses)()

    # The module's own clock: other threads of the process sleep too.
    monkeypatch.setattr("ghcm.cli.sinks.time", SimpleNamespace(sleep=pause))
    read("v", "out", where="n != 3", follow=True, limit=4, json=True)
    assert [each["n"] for each in printed(capsys)] == [1, 2, 4, 5]
    changed = [(10**15, "/2", 22, None), *visits(3)]
    pauses = iter([partial(write, place, made.sink("latest"), "b", [*visits(1), *changed])])
    read("v", "latest", follow=True, limit=4, csv=True)
    shown = [line.split(",")[2] for line in capsys.readouterr().out.splitlines()]
    assert (shown[0], sorted(shown[1:3]), sorted(shown[3:])) == ("n", ["1", "2"], ["22", "3"])


def test_a_table_of_a_database_is_counted_and_followed(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "ghcm.toml").write_text('[sql]\nlocal = "sqlite:///v.db"\n')
    (place / "d.istream").write_text(
        'program d\nrecord N { n: int }\nsink rows = sql("local", "rows", mode = append)\n'
        'stream watch { files("n.jsonl", format = json).as(N).to(rows) }\n'
    )
    made, connections, _ = known("d.istream", None)
    with closing(connections), closing(open_writer(made.sink("rows"), connections, writer="w")) as writer:

        def commit(*numbers: int) -> None:
            for number in numbers:
                writer.write([(number,)])
                writer.prepare(versions(5)[number])
                writer.commit(versions(5)[number])

        commit(0, 1)
        sinks("d.istream", json=True)
        assert printed(capsys)[0]["sinks"][0]["rows"] == 2
        pauses = iter([partial(commit, 2), partial(commit, 3, 4)])

        def pause(_: float) -> None:
            next(pauses)()

        monkeypatch.setattr("ghcm.cli.sinks.time", SimpleNamespace(sleep=pause))
        read("d.istream", "rows", follow=True, limit=4)
    said = capsys.readouterr()  # rows of a stream can be told apart until its next commit
    assert [json.loads(line)["n"] for line in said.out.splitlines()] == [0, 1, 2, 4]
    assert said.err == "1 row came too fast to be told from others; without --follow all are read\n"


def test_a_question_in_sql_is_answered(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = program(place)
    write(place, made.sink("out"), "a", visits(1, 2, 3))
    write(place, made.sink("latest"), "a", visits(2, 3))
    sql("select out.n, latest.note, out.moment from OUT join latest using (page) order by 1", json=True)
    assert printed(capsys) == [
        {"n": 2, "note": "even, it is", "moment": "2001-09-09 01:46:40.000002+00:00"},
        {"n": 3, "note": None, "moment": "2001-09-09 01:46:40.000003+00:00"},
    ]
    sql("select out.n, latest.n from out join latest on out.n > latest.n", csv=True)
    assert capsys.readouterr().out.splitlines() == ["n,n_2", "3,2"]
    sql("select sum(n) as total from out", "v")
    assert capsys.readouterr().out.split() == ["total", "6"]
    with pytest.raises(typer.Exit) as ended:
        guarded(sql)("select * from nowhere")
    assert ended.value.exit_code == 2
    assert 'The sinks are "out", "whole", "latest".' in refused(capsys)


def test_sql_has_the_rows_of_every_file(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ghcm.runtime.sinks.table_sink.MOST_FILES", 2)
    for number in range(4):
        write(place, program(place).sink("out"), f"v{number}", visits(number))
    sql("select count(*) as n from out", json=True)
    assert printed(capsys) == [{"n": 4}]


def test_without_duckdb_the_extra_is_named(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(typer.Exit):
        guarded(sql)("select 1")
    assert 'pip install "ghcm[sql]"' in refused(capsys)


def test_dead_letters_are_grouped_listed_and_cleared(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fail(place, "old", ("bad_record", "line 1"), folder=".ghcm/earlier/7")
    fail(place, "a", ("bad_record", "line 2"), ("overflow", "n"))
    dead("v", json=True)
    first, second = printed(capsys)
    assert (first["count"], first["reason"], first["detail"], first["origin"]) == (
        2,
        "bad_record",
        "line 1",
        "v.istream:7:3",
    )
    assert first["first"] < first["last"] == second["first"]
    dead("v", reason="bad_record", all=True, json=True)
    assert [each["detail"] for each in printed(capsys)] == ["line 2", "line 1"]
    for command in (lambda: dead("v", csv=True, json=True), lambda: sql("select 1", csv=True, json=True)):
        with pytest.raises(typer.Exit):
            guarded(command)()
        assert "two forms of the same rows" in refused(capsys)
    dead("v", limit=1)
    said = capsys.readouterr()
    assert (len(said.out.splitlines()), "there are 2" in said.err) == (2, True)
    mixed = partial(dead, "v", clear=True, reason="overflow")
    for look in (partial(dead, "v", unit="wacth"), partial(dead, "v", reason="bad_recrod"), mixed):
        with pytest.raises(typer.Exit) as ended:
            guarded(look)()
        assert ended.value.exit_code == 2
    capsys.readouterr()
    dead("v", clear=True, json=True)
    assert printed(capsys) == [{"cleared": 3}]
    fail(place, "b", ("overflow", "later"))
    dead("v", json=True)
    assert [each["detail"] for each in printed(capsys)] == ["later"]


def test_which_program_has_to_be_said_where_there_are_several(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(StateDirectory(Path(".ghcm")).store)
    store.jobs.submit("w-1", "w", "unused")
    store.close()
    with pytest.raises(typer.Exit):
        guarded(sql)("select 1")
    assert "it is not said which program" in refused(capsys)
