"""A Delta table of words by another tool, and a source that follows it."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event
from typing import Any, cast

import deltalake
import pyarrow as pa
import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sources.table import TableSource
from ghcm.spg.connectors import Table
from ghcm.types import Field, Int, String, Struct

WORD = Struct((Field("word", String()), Field("count", Int())))


def put(base: Path, *rows: Row, mode: Any = "append", **options: Any) -> None:
    """Rows of words by another tool."""
    frame = pa.table({"word": [row[0] for row in rows], "count": pa.array([row[1] for row in rows], pa.int64())})
    deltalake.write_deltalake(str(base / "t"), frame, mode=mode, **options)


# --- a version --------------------------------------------------------------------------------------------------------


class Follower:
    """A table that is followed, and what it has given."""

    def __init__(self, base: Path, position: object = None, record: Struct = WORD, **options: Any) -> None:
        self.woken = Event()
        self.source = TableSource(Table("t", follow=True, **options), record, "p", base)
        self.source.open(position, self.woken.set)
        self.rows: list[Row] = []

    def until(self, count: int, version: int | None = None) -> list[Row]:
        """Poll until there are so many rows, and all of the commits before that version."""
        while self._lacks(count, version):
            self.woken.clear()
            batch = self.source.poll(8192, lambda *_: None)
            if batch is not None:
                assert batch.partition == "p"
                self.rows += batch.rows()
            elif self._lacks(count, version):
                assert self.woken.wait(60)
        return self.rows

    def fails(self) -> GhcmError:
        with pytest.raises(GhcmError) as refused:
            self.until(1000)
        return refused.value

    def _lacks(self, count: int, version: int | None) -> bool:
        place = cast("dict[str, Any] | None", self.source.position())
        begun = -1 if place is None or place["whole"] else place["version"]
        return len(self.rows) < count or (version is not None and begun < version)

    def position(self) -> dict[str, Any]:
        """The position as a snapshot brings it back."""
        return cast("dict[str, Any]", json.loads(json.dumps(self.source.position())))
