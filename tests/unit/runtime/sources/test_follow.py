"""Files that come later are read, each once, and a restart neither loses nor repeats any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import cast

import pytest

from ghcm.errors import GhcmError
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.file_pieces import FIRST_PIECE
from ghcm.runtime.sources.files import FilesSource, FollowSource
from ghcm.source import Source as Text
from ghcm.spg.connectors import Files, Format
from ghcm.spg.verify import verify
from ghcm.types import Field, Int, Struct
from tests.unit.runtime.formats.decoding import drain

ROW = Struct((Field("a", Int()),))
FOLLOWED = Files("in/*", Format("json"), clock="continues", follow=True)


class Reader:
    """A source and what it has given."""

    def __init__(self, base: Path, position: object = None, files: Files = FOLLOWED, piece: int = FIRST_PIECE) -> None:
        self.woken = Event()
        self.source = FollowSource(files, ROW, "p", base, piece)
        self.source.open(position, self.woken.set)
        self.rows: list[Row] = []

    def until(self, count: int, *, closed: bool = False) -> list[Row]:
        """Poll until there are so many rows, `closed`: and the last file was read to its end."""
        while self._waits_for(count, closed):
            self.woken.clear()
            batch = self.source.poll(8192, lambda _reason, _detail, _text: None)
            if batch is not None:
                assert batch.partition == "p"
                self.rows += batch.rows()
            elif self._waits_for(count, closed):
                assert self.woken.wait(60)
        return self.rows

    def _waits_for(self, count: int, closed: bool) -> bool:
        return len(self.rows) < count or (closed and self.position()["file"] is not None)

    def position(self) -> dict[str, object]:
        """The position as a snapshot brings it back."""
        return cast("dict[str, object]", json.loads(json.dumps(self.source.position())))


def put(base: Path, name: str, *numbers: int) -> None:
    """A whole file appears."""
    hidden = base / "in" / f".{name}"
    hidden.write_text("".join(json.dumps({"a": number}) + "\n" for number in numbers))
    hidden.rename(base / "in" / name)


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "in").mkdir()
    yield tmp_path


def test_files_are_read_when_they_appear(base: Path) -> None:
    put(base, "b", 1, 2)
    reader = Reader(base)
    assert reader.until(2) == [(1,), (2,)]
    put(base, "c", 3)
    assert reader.until(3)[2:] == [(3,)]
    put(base, "a", 4)
    assert reader.until(4)[3:] == [(4,)]
    assert not reader.source.ended
    assert reader.source.partitions() == {"p"}
    reader.source.close()


def test_a_restart_loses_and_repeats_nothing(base: Path) -> None:
    many = range(40_000)
    put(base, "a", *many)
    put(base, "b", 1)
    first = Reader(base, piece=50_000)
    begun = len(first.until(1))
    position = first.position()
    first.source.close()
    assert 0 < begun < len(many)
    second = Reader(base, position, piece=50_000)
    expected = [(number,) for number in (*many, 1)]
    assert second.until(len(expected) - begun, closed=True) == expected[begun:]
    position = second.position()
    assert position["read"] == ["in/a", "in/b"]
    second.source.close()
    put(base, "c", 2)
    third = Reader(base, position)
    assert third.until(1) == [(2,)]
    third.source.close()


def test_what_is_taken_away_is_forgotten(base: Path) -> None:
    put(base, "a", 1)
    reader = Reader(base)
    reader.until(1, closed=True)
    (base / "in" / "a").unlink()
    put(base, "b", 2)
    reader.until(2, closed=True)
    assert reader.position() == {"read": ["in/b"], "file": None}
    put(base, "a", 3)
    assert reader.until(3)[2:] == [(3,)]
    reader.source.close()


def test_a_damaged_file_fails_the_source(base: Path) -> None:
    (base / "in" / "a.gz").write_bytes(b"no gzip")
    reader = Reader(base)
    with pytest.raises(GhcmError, match=r'cannot read "in/a\.gz"'):
        reader.until(1)
    reader.source.close()


def test_where_the_clock_continues_files_are_one_partition(base: Path) -> None:
    put(base, "a", 1)
    put(base, "b", 2)
    files = Files("in", Format("json"), clock="continues")
    source = FilesSource(files, ROW, "p", base)
    source.open(None, lambda: None)
    assert source.partitions() == {"p"}
    source.close()
    assert drain(FilesSource(files, ROW, "p", base))[0] == [(1,), (2,)]


def test_what_follows_files_is_a_program_whose_input_has_no_end() -> None:
    text = """program p
record R { n: int }
sink out = parquet("out", mode = append)
stream u { files("in", format = json, follow = true).as(R).to(out) }
"""
    program = lower(parse(Text("p.istream", text)))
    assert verify(program) == []
    assert not program.unit("u").tasks[0].collection.bounded
