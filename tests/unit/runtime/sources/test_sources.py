"""Sources at work in an engine: sockets, clocks, files that fail, what was stored."""

from __future__ import annotations

import gzip
import os
import socket
from pathlib import Path
from threading import Event, Thread

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.sources.columns import SomeColumns
from ghcm.runtime.sources.files import FilesSource
from ghcm.runtime.sources.memory import GenerateSource
from ghcm.runtime.sources.tcp import SocketSource
from ghcm.spg.connectors import Connector as AnyConnector
from ghcm.spg.connectors import Files, Format, Generate, Memory, Socket
from ghcm.spg.graph import Program, Sink
from ghcm.spg.ops import ReadSink, Source, To
from ghcm.types import Struct, Type
from tests.unit.runtime.small_operators import LINE, NUMBERED, WORD, engine, rows_of, sink, task, unit


def copying(connector: AnyConnector, element: Type, out: Sink) -> Program:
    return Program(
        "small",
        (),
        (out,),
        (unit("main", task("in", Source(connector), element), task("to", To(out.name), element, "in")),),
    )


def test_memory(tmp_path: Path) -> None:
    program = copying(Memory((("a",), ("b",))), WORD, sink("out", "out", WORD))
    engine(program, tmp_path).run()
    assert rows_of(program, "out", tmp_path) == [("a",), ("b",)]


@pytest.mark.parametrize("rows", [0, 3, 30_000])
def test_generate(tmp_path: Path, rows: int) -> None:
    program = copying(Generate(rows, None, 100, 7), NUMBERED, sink("out", "out", NUMBERED))
    engine(program, tmp_path).run()
    assert rows_of(program, "out", tmp_path) == [(n, 100 + 7 * n) for n in range(rows)]


def test_generate_keeps_its_rate_and_goes_on_where_it_was() -> None:
    clock = [7.0]
    source = GenerateSource(Generate(None, 1000.0, 0, 1), NUMBERED, "p", lambda: clock[0])
    source.open(40, lambda: None)
    numbers: list[object] = []
    while len(numbers) < 50:
        batch = source.poll(1000, lambda *_: None)
        numbers += [row[0] for row in batch.rows()] if batch is not None else []
        assert len(numbers) <= (clock[0] - 7.0) * 1000 + 1
        due = source.due
        assert due is not None
        clock[0] = max(clock[0], due) + 1e-6
    assert numbers == list(range(40, 40 + len(numbers)))


def test_a_time_that_does_not_fit_fails_the_unit(tmp_path: Path) -> None:
    program = copying(Generate(3, None, 2**63 - 2, 1), NUMBERED, sink("out", "out", NUMBERED))
    with pytest.raises(GhcmError, match="does not fit into a timestamp"):
        engine(program, tmp_path).run()


def test_a_socket_is_read_until_the_server_closes(tmp_path: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall("one\ntwo\ndrei ü\nend".encode())

    Thread(target=serve, daemon=True).start()
    program = copying(Socket("127.0.0.1", port, Format("text")), LINE, sink("out", "out", LINE))
    engine(program, tmp_path).run()
    server.close()
    name = f"127.0.0.1:{port}"
    texts = ["one", "two", "drei ü", "end"]
    assert rows_of(program, "out", tmp_path) == [(text, name, n) for n, text in enumerate(texts, 1)]


def test_lines_that_come_in_pieces_are_put_together() -> None:
    server, came, done = socket.create_server(("127.0.0.1", 0)), Event(), Event()

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            for part in (b"one\ntw", b"o\n", "drei ü\nend".encode()):
                connection.sendall(part)
                done.wait(30)
                done.clear()

    Thread(target=serve, daemon=True).start()
    source = SocketSource(Socket("127.0.0.1", server.getsockname()[1], Format("text")), LINE, "p")
    source.open(None, came.set)
    texts: list[list[object]] = []
    while not source.ended and came.wait(30):
        came.clear()
        batch = source.poll(1000, lambda *_: None)
        texts += [[row[0] for row in batch.rows()]] if batch is not None else []
        done.set()
    server.close()
    assert [each for each in texts if each] == [["one"], ["two"], ["drei ü"], ["end"]]


def test_a_server_that_is_not_there_fails_the_unit(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # so that nobody else listens there
        source = Socket("127.0.0.1", nobody.getsockname()[1], Format("text"))
        with pytest.raises(GhcmError, match="cannot read from"):
            engine(copying(source, LINE, sink("out", "out", LINE)), tmp_path).run()


def test_files_know_how_much_of_them_was_read(tmp_path: Path) -> None:
    for name, lines in (("a", 3_000), ("b", 1_000)):
        (tmp_path / f"{name}.txt").write_text("a line\n" * lines, encoding="utf-8")
    files, more = FilesSource(Files("*.txt", Format("text")), LINE, "p", tmp_path, piece=7_000), Event()
    source = SomeColumns(files, LINE, LINE)
    source.open(None, more.set)
    shares = [source.share()]
    while not source.ended:
        if source.poll(1, lambda *_: None) is None and not source.ended:
            assert more.wait(30)
            more.clear()
        shares.append(source.share())
    source.close()
    known = [each for each in shares if each is not None]
    assert known == sorted(known) == shares and (known[0], known[-1]) == (0.0, 1.0) and 0.75 in known


def test_a_damaged_gz_file_fails_the_unit(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"text\n" * 10_000)[:-20])
    program = copying(Files("a.gz", Format("text")), LINE, sink("out", "out", LINE))
    with pytest.raises(GhcmError, match=r'cannot read "a\.gz"'):
        engine(program, tmp_path).run()


def test_a_stored_sink_is_read_whole(tmp_path: Path) -> None:
    first = copying(Generate(10_000, None, 0, 1), NUMBERED, sink("out", "out", NUMBERED))
    engine(first, tmp_path).run()
    reading = Program(
        "second",
        (),
        (sink("out", "out", NUMBERED), sink("copy", "copy", NUMBERED), sink("none", "none", NUMBERED)),
        (
            unit(
                "main",
                task("read", ReadSink("out"), NUMBERED),
                task("to", To("copy"), NUMBERED, "read"),
                task("nothing", ReadSink("none"), NUMBERED),
                task("nowhere", To("copy"), NUMBERED, "nothing"),
            ),
        ),
    )
    engine(reading, tmp_path).run()
    assert rows_of(reading, "copy", tmp_path) == [(n, n) for n in range(10_000)]


def test_an_idle_engine_takes_no_turns(tmp_path: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    program = copying(Socket("127.0.0.1", server.getsockname()[1], Format("text")), LINE, sink("out", "out", LINE))
    with engine(program, tmp_path) as running:
        connection, _ = server.accept()
        connection.sendall(b"line\n")
        while not running.commits:
            running.wait(timeout=0.05)
        turns = running._scheduler.turns
        running.wait(timeout=2.0)
        assert running._scheduler.turns - turns <= 2
        connection.close()
        server.close()
        assert running.wait(timeout=30)
    assert len(rows_of(program, "out", tmp_path)) == 1


@pytest.mark.parametrize(
    ("name", "what"), [("none", "no file matches"), ("folder", "it is a folder"), ("pipe", "it is no file")]
)
def test_what_is_no_file_is_said(tmp_path: Path, name: str, what: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    source = FilesSource(Files(name, Format("json")), Struct(()), "p", tmp_path)
    with pytest.raises(GhcmError, match=what):
        source.open(None, lambda: None)
