"""Texts of Parquet and Arrow files whose bytes are no UTF-8: their rows are dead letters, as the reference says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ghcm.runtime.data.columns import Row
from ghcm.runtime.sources.files import FilesSource
from ghcm.spg.connectors import Files, Format
from ghcm.types import Field, List, Nullable, String, Struct
from tests.laws.table_files import FORMS, write
from tests.unit.runtime.formats.decoding import by_reference, drain

TEXT = Struct((Field("s", Nullable(String())),))
LIST = Struct((Field("l", List(String())),))
SOUND_TEXTS: list[Row] = [("a",), (None,), ("b",)]
SOUND_LISTS: list[Row] = [(["c"],), ([],), (["d"],)]


@pytest.mark.parametrize("form", FORMS)
def test_texts_that_are_not_utf8_make_dead_letters(form: str, tmp_path: Path) -> None:
    arrow: Any = pa
    texts = arrow.array([b"a", b"\xff", None, b"b"], arrow.binary()).view(arrow.string())
    items = arrow.array([b"c", b"d", b"\xfe"], arrow.binary()).view(arrow.string())
    lists = arrow.ListArray.from_arrays([0, 1, 1, 2, 3], items)
    write(arrow.table({"s": texts, "l": lists}), tmp_path / "f", form)
    format_ = Format(form.split(maxsplit=1)[0])
    for schema, sound, odd in ((TEXT, SOUND_TEXTS, "f:2"), (LIST, SOUND_LISTS, "f:4")):
        rows, dead = drain(FilesSource(Files("f", format_), schema, "in", tmp_path))
        expected, letters = by_reference(format_, schema, (tmp_path / "f").read_bytes())
        assert rows == expected == sound
        for detail, text in (*dead, *letters):
            assert (detail.split(": ")[0], text) == (odd, "")
        assert len(dead) == len(letters) == 1
