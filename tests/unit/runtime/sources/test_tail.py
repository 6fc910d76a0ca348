"""Files that grow are read line by line, whatever becomes of their names, and a restart neither loses nor repeats."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import cast

import pytest

from ghcm import Program, Record, files, parquet
from ghcm.codegen.engines import emit
from ghcm.codegen.spark import SPARK
from ghcm.errors import GhcmError
from ghcm.functions import Failure
from ghcm.language import print_program as print_text
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.sources.tail import Tailing, TailSource
from ghcm.source import Source as Text
from ghcm.spg.connectors import Files, Format
from ghcm.spg.json import from_json, to_json
from ghcm.spg.reference import run
from ghcm.spg.text import parse_program as parse_spg
from ghcm.spg.text import print_program as print_spg
from ghcm.spg.verify import verify
from ghcm.types import Field, Int, String, Struct

ROW = Struct((Field("a", Int()),))
LOG = Files("in/app.log", Format("json"), clock="continues", follow=True, tail=True)
ALL = Files("in/*", Format("json"), clock="continues", follow=True, tail=True)
PAD = "x" * 40
"""Makes lines long, so that files soon have more bytes than are compared."""


class Reader:
    """A source and what it has given."""

    def __init__(self, base: Path, files: Files = LOG, position: object = None, schema: Struct = ROW) -> None:
        self.woken = Event()
        self.source = TailSource(files, schema, "p", base)
        self.source.open(position, self.woken.set)
        self.rows: list[int] = []
        self.dead: list[str] = []

    def until(self, done: Callable[[], bool]) -> None:
        """Poll until that holds."""
        while not done():
            self.woken.clear()
            batch = self.source.poll(8192, self._letter)
            if batch is not None:
                self.rows += [cast("int", row[0]) for row in batch.rows()]
            elif not done():
                assert self.woken.wait(60)

    def has(self, *numbers: int) -> None:
        """Poll until there are as many, which have to be these."""
        self.until(lambda: len(self.rows) >= len(numbers))
        assert self.rows == list(numbers)

    def position(self) -> dict[str, list[dict[str, object]]]:
        """The position as a snapshot brings it back."""
        return cast("dict[str, list[dict[str, object]]]", json.loads(json.dumps(self.source.position())))

    def stop(self) -> object:
        """The position, behind which nothing is read any more."""
        self.source.close()
        return self.position()

    def _letter(self, reason: Failure, detail: str, text: str) -> None:
        self.dead.append(f"{detail} | {text}")


def lines(*numbers: int) -> str:
    return "".join(json.dumps({"a": number, "pad": PAD}) + "\n" for number in numbers)


def add(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "in").mkdir()
    yield tmp_path / "in" / "app.log"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path


def test_lines_are_read_as_they_are_written(log: Path, base: Path) -> None:
    reader = Reader(base)
    add(log, lines(1, 2))
    reader.has(1, 2)
    add(log, lines(3))
    reader.has(1, 2, 3)
    assert not reader.source.ended
    assert reader.source.partitions() == {"p"}
    reader.stop()


def test_an_unfinished_line_waits_also_over_a_restart(log: Path, base: Path) -> None:
    add(log, lines(1) + '{"a"')
    reader = Reader(base)
    reader.until(lambda: bool(reader.position()["files"]))
    reader.has(1)
    add(log, ": 2}\n" + '{"a": 3')
    reader.has(1, 2)
    second = Reader(base, position=reader.stop())
    add(log, "}\n")
    second.has(3)
    assert reader.dead == second.dead == []
    second.stop()


@pytest.mark.parametrize("files", [LOG, ALL], ids=["one name", "all names"])
def test_a_log_that_is_renamed_is_read_to_its_end(log: Path, base: Path, files: Files) -> None:
    add(log, lines(1, 2))
    reader = Reader(base, files)
    reader.has(1, 2)
    add(log, lines(3))
    log.rename(log.with_name("app.log.1"))
    add(log, lines(1))
    add(log.with_name("app.log.1"), lines(4))
    reader.until(lambda: len(reader.rows) == 5)
    assert sorted(reader.rows) == [1, 1, 2, 3, 4]
    add(log, lines(5))
    reader.until(lambda: len(reader.rows) == 6)
    reader.stop()


@pytest.mark.parametrize("files", [LOG, ALL], ids=["one name", "all names"])
def test_a_log_that_is_renamed_while_nobody_reads(log: Path, base: Path, files: Files) -> None:
    add(log, lines(1, 2))
    reader = Reader(base, files)
    reader.has(1, 2)
    position = reader.stop()
    add(log, lines(3))
    log.rename(log.with_name("app.log.1"))
    add(log, lines(4))
    second = Reader(base, files, position)
    second.has(3, 4)
    second.stop()


@pytest.mark.parametrize("files", [LOG, ALL], ids=["one name", "all names"])
@pytest.mark.parametrize("away", [True, False], ids=["nobody reads", "it is read"])
def test_a_log_that_is_copied_and_cut(log: Path, base: Path, files: Files, away: bool) -> None:
    before = range(100)
    add(log, lines(*before))
    reader = Reader(base, files)
    reader.has(*before)
    position = reader.stop() if away else None
    add(log, lines(100, 101))
    shutil.copy(log, log.with_name("app.log.1"))
    os.truncate(log, 0)
    add(log, lines(200))
    reader = Reader(base, files, position) if away else reader
    reader.until(lambda: len(reader.rows) == 3 + (0 if away else 100))
    assert sorted(reader.rows)[-3:] == [100, 101, 200]
    add(log, lines(201))
    reader.until(lambda: reader.rows[-1] == 201)
    third = Reader(base, files, reader.stop())
    add(log, lines(202))
    third.has(202)
    third.stop()


def test_a_copy_is_not_read_before_the_log_is_cut(log: Path, base: Path) -> None:
    before = range(100)
    add(log, lines(*before))
    reader = Reader(base, ALL)
    reader.has(*before)
    shutil.copy(log, log.with_name("app.log.1"))
    add(log, lines(100))
    reader.has(*before, 100)
    os.truncate(log, 0)
    add(log, lines(101))
    reader.has(*before, 100, 101)
    add(log, lines(102))
    reader.has(*before, 100, 101, 102)
    reader.stop()


def test_what_begins_like_another_file_is_read_when_it_differs(log: Path, base: Path) -> None:
    add(log, lines(1, 2))
    reader = Reader(base, ALL)
    reader.has(1, 2)
    other = log.with_name("other.log")
    add(other, lines(1))
    add(other, lines(3))
    reader.has(1, 2, 1, 3)
    reader.stop()


def test_what_is_the_same_as_another_file_is_read_in_the_end(
    log: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ghcm.runtime.sources.copies._COPY_S", 0.05)
    add(log, lines(1, 2))
    reader = Reader(base, ALL)
    reader.has(1, 2)
    add(log.with_name("other.log"), lines(1, 2))
    reader.has(1, 2, 1, 2)
    reader.stop()


def test_a_cut_without_a_copy_is_said(log: Path, base: Path, caplog: pytest.LogCaptureFixture) -> None:
    add(log, lines(1, 2))
    reader = Reader(base)
    reader.has(1, 2)
    os.truncate(log, 0)
    add(log, lines(3))
    reader.has(1, 2, 3)
    assert '"in/app.log" was cut or taken away, and there is no copy of it' in caplog.text
    reader.stop()


def test_a_log_that_was_cut_and_has_grown_beyond(log: Path, base: Path) -> None:
    add(log, lines(1, 2))
    reader = Reader(base)
    reader.has(1, 2)
    with log.open("r+") as file:
        file.truncate(0)
        file.write(lines(3, 4, 5, 6))
        file.flush()
    reader.has(1, 2, 3, 4, 5, 6)
    reader.stop()


@pytest.mark.parametrize("whole", ["", lines(1)])
def test_an_unfinished_line_does_not_go_on_in_another_file(log: Path, base: Path, whole: str) -> None:
    tailing = Tailing(LOG, ROW, "p", base, {})
    log.write_text(whole + '{"a": 2, "pad": "')
    before = [row[0] for piece in tailing.look() if piece.batch is not None for row in piece.batch.rows()]
    log.write_text(whole + lines(3, 4))
    pieces = list(tailing.look())
    tailing.close()
    after = [row[0] for piece in pieces if piece.batch is not None for row in piece.batch.rows()]
    assert before == ([1] if whole else [])
    assert after == [*before, 3, 4]
    assert [text for piece in pieces for _, _, text in piece.letters] == ['{"a": 2, "pad": "']


def test_an_unfinished_first_line_goes_on_in_the_copy_alone(log: Path, base: Path) -> None:
    tailing = Tailing(ALL, ROW, "p", base, {})
    log.write_text('{"a": 1, "pad": "')
    looks = [list(tailing.look())]
    copy = log.with_name("app.log.1")
    shutil.copy(log, copy)
    looks.append(list(tailing.look()))
    log.write_text(lines(2))
    looks.append(list(tailing.look()))
    add(copy, 'x"}\n')
    looks.append(list(tailing.look()))
    tailing.close()
    pieces = [piece for look in looks for piece in look]
    assert [row[0] for piece in pieces if piece.batch is not None for row in piece.batch.rows()] == [2, 1]
    assert [text for piece in pieces for _, _, text in piece.letters] == []


def test_the_last_line_of_a_removed_file_is_whole(log: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghcm.runtime.sources.tail._REMOVED_S", 0.05)
    add(log, lines(1) + '{"a": 2}')
    reader = Reader(base)
    reader.has(1)
    log.unlink()
    reader.has(1, 2)
    add(log, lines(3))
    reader.has(1, 2, 3)
    assert [each["name"] for each in reader.position()["files"]] == ["in/app.log"]
    reader.stop()


def test_places_of_bad_lines_go_on_behind_a_restart(log: Path, base: Path) -> None:
    add(log, lines(1) + "bad\n" + lines(2))
    reader = Reader(base)
    reader.has(1, 2)
    position = reader.stop()
    log.rename(log.with_name("app.log.1"))
    add(log.with_name("app.log.1"), "worse\n" + lines(3))
    second = Reader(base, position=position)
    second.has(3)
    assert reader.dead == ["in/app.log:2: no JSON | bad"]
    assert second.dead == ["in/app.log:4: no JSON | worse"]
    second.stop()


def test_csv_goes_on_under_its_header_and_over_lines(log: Path, base: Path) -> None:
    files = Files("in/app.log", Format("csv"), clock="continues", follow=True, tail=True)
    schema = Struct((Field("a", Int()), Field("b", String())))
    add(log, 'a,b\n1,x\n2,"y\n')
    reader = Reader(base, files, schema=schema)
    reader.has(1)
    second = Reader(base, files, reader.stop(), schema)
    add(log, 'z"\n3,w\n')
    second.has(2, 3)
    second.stop()


def test_many_more_files_than_are_kept_open(base: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghcm.runtime.sources.tail._OPEN", 3)
    every = [log.with_name(f"{number}.log") for number in range(20)]
    for number, path in enumerate(every):
        add(path, lines(number))
    reader = Reader(base, ALL)
    reader.until(lambda: len(reader.rows) == 20)
    for number, path in enumerate(every):
        add(path, lines(100 + number))
    reader.until(lambda: len(reader.rows) == 40)
    assert sorted(reader.rows) == [*range(20), *range(100, 120)]
    reader.stop()


def test_packed_files_are_left_out(log: Path, base: Path, caplog: pytest.LogCaptureFixture) -> None:
    log.with_name("app.log.2.gz").write_bytes(b"whatever")
    add(log, lines(1))
    reader = Reader(base, ALL)
    reader.has(1)
    assert caplog.text.count('"in/app.log.2.gz" is packed') == 1
    reader.stop()


TEXT = """program p
sink out = parquet("out", mode = append)
record R { a: int }
stream u { files("in/app.log", format = json, tail = true).as(R).to(out) }
"""


def test_both_front_ends_and_the_printed_forms_say_the_same() -> None:
    said = lower(parse(Text("p.istream", TEXT)))
    written = Program("p")
    out = written.sink(parquet("out", mode="append"), name="out")

    class R(Record):
        a: int

    @written.stream
    def u() -> None:
        files("in/app.log", format="json", tail=True).as_(R).to(out)

    assert print_text(written.tree()) == print_text(parse(Text("p.istream", TEXT)))
    assert parse_spg(print_spg(said)) == said
    assert from_json(to_json(said)) == said


def test_no_batch_unit_tails() -> None:
    program = lower(parse(Text("p.istream", TEXT)))
    with pytest.raises(GhcmError, match="reads files as they grow: no batch unit can"):
        emit(SPARK, program, program.unit("u"))


def test_the_reference_reads_the_whole_lines_that_are_there(log: Path, base: Path) -> None:
    program = lower(parse(Text("p.istream", TEXT)))
    assert verify(program) == []
    assert not program.unit("u").tasks[0].collection.bounded
    add(log, lines(1, 2) + '{"a": 3}')
    assert run(program, "u", base=base).sinks["out"] == [(1,), (2,)]
