"""A process beside this one decodes blocks of JSON as this one does, and leaves the others to it."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.file_pieces import decoded
from ghcm.runtime.formats.json_lines import JsonLines
from ghcm.runtime.sources.decoding_beside import DecodingBeside
from ghcm.spg.connectors import Files, Format
from ghcm.types import Field, Float, Int, Map, Nullable, String, Struct, Timestamp

SCHEMA = Struct(
    (
        Field("number", Int()),
        Field("share", Float()),
        Field("text", String()),
        Field("time", Timestamp()),
        Field("none", Nullable(String())),
    )
)
LINE = '{{"number":{0},"share":{1},"text":"word {0}","time":"2026-01-0{2}T03:04:05.678Z"}}\n'


def lines(count: int, first: int = 0) -> bytes:
    texts = (LINE.format(each, each % 7, 1 + each % 3) for each in range(first, first + count))
    return "".join(texts).encode()


class Counted:
    """Notes how many blocks the process has decoded."""

    def __init__(self, beside: DecodingBeside) -> None:
        self._beside = beside
        self.blocks = 0

    def is_ready(self) -> bool:
        """As the process."""
        return self._beside.is_ready()

    def decode(self, data: bytes) -> pl.DataFrame | None:
        """As the process."""
        found = self._beside.decode(data)
        self.blocks += found is not None
        return found


def read(base: Path, helper: Counted | None) -> tuple[list[Row], list[object]]:
    """The records, and where each piece ends and what failed in it."""
    files = Files("*.jsonl", Format("json"))
    pieces = list(decoded(files, SCHEMA, base, "a.jsonl", "p", (0, 0, None), 1 << 20, helper))
    rows = [row for piece in pieces if piece.batch is not None for row in piece.batch.rows()]
    return rows, [(piece.offset, piece.number, piece.letters) for piece in pieces]


def test_blocks_are_decoded_as_here_and_the_others_are_left(tmp_path: Path) -> None:
    beside = DecodingBeside.started(SCHEMA)
    assert beside is not None
    try:
        assert beside.is_ready(60)
        assert DecodingBeside.started(SCHEMA) is None  # there is one core for it
        block = lines(20_000)
        expected, found = JsonLines(SCHEMA).block(memoryview(block)), beside.decode(block)
        assert expected is not None
        assert found is not None
        assert found.equals(expected)
        assert found.schema == expected.schema

        (tmp_path / "a.jsonl").write_bytes(lines(60_000))
        counted = Counted(beside)
        assert read(tmp_path, counted) == read(tmp_path, None)
        assert counted.blocks > 0

        assert beside.is_ready()
        assert beside.decode(block + b'{"number": 1}\n') is None
        assert not beside.is_ready()  # such lines are of no use to it, so it ends
        assert beside.decode(block) is None
        (tmp_path / "a.jsonl").write_bytes(lines(30_000) + b'{"number": "none"}\n')
        assert read(tmp_path, counted) == read(tmp_path, None)
    finally:
        beside.close()
    again = DecodingBeside.started(SCHEMA)
    assert again is not None
    again.close()
    assert again.decode(block) is None


def test_what_is_read_value_by_value_needs_no_process() -> None:
    assert DecodingBeside.started(Struct((Field("pairs", Map(String(), Int())),))) is None
