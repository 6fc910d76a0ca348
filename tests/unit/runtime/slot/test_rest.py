"""What an engine gives back while nothing comes to it."""

import re
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from ghcm.runtime.slot.rest import Rest, as_in_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a process what lies in its memory")


def _of_files() -> int:
    """Kilobytes of files in memory."""
    [found] = re.findall(r"RssFile:\s+(\d+) kB", Path("/proc/self/status").read_text("utf-8"))
    return int(found)


def test_libraries_are_given_back_once_nothing_moves_and_work_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    rest, before = Rest(), _of_files()
    times = iter([now + 1, now + 5, now + 12])
    monkeypatch.setattr("ghcm.runtime.slot.rest.time.monotonic", lambda: next(times))
    rest.look(moves=True)
    rest.look(moves=False)
    assert _of_files() > before * 0.9
    rest.look(moves=False)
    monkeypatch.undo()
    assert _of_files() < before / 2
    assert pl.DataFrame({"a": [1, 2, 2]}).lazy().group_by("a").agg(pl.len()).collect().height == 2


def test_pages_that_are_copies_stay_also_where_they_are_swapped_out() -> None:
    def library(at: int, copies: int, swapped: int) -> str:
        return (
            f"7f00{at}000-7f00{at}800 r--p 00000000 fe:00 {at} /lib/of \udcff/a{at}.so\nRss: 8 kB\n"
            f"Anonymous: {copies:5} kB\nSwap: {swapped:9} kB\nVmFlags: rd mr\n"
        )

    assert as_in_files(library(1, 0, 0) + library(2, 4, 0) + library(3, 0, 4) + library(4, 0, 0)) == {
        "7f001000-7f001800",
        "7f004000-7f004800",
    }
