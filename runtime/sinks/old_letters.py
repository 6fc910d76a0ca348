"""How the oldest dead letters go while more come. It loads no Polars: the daemon looks at them every half minute."""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ghcm.tables.plain import PlainTable
from ghcm.tables.versions import Version, explained, series_of

_AT_ONCE = 1000
"""Versions that are removed under one lock."""


def thin(table: Path, before: int, most: int, jobs: Iterable[str], snapshots: int) -> int:
    """Remove the oldest versions of a table, which others may write: what was committed before this moment
    (microseconds), and what is beyond so many bytes; how many letters. What a snapshot of these jobs may name stays:
    the last versions of each of their runs, as many as there are snapshots and one that is just being taken.
    """
    with explained(table, "read"):
        commits = PlainTable(table).commits()
    prefixes, kept = tuple(f"{job}-" for job in jobs), Counter[str]()
    gone: list[Version] = []
    for commit in reversed(commits):
        most -= sum(_size(table / file.name) for file in commit.files)
        series, number = series_of(commit.version)
        if number and commit.version.startswith(prefixes):
            kept[series] += 1
            if kept[series] <= snapshots + 1:
                continue
        if most < 0 or commit.time < before:
            gone.append(commit)
    gone.reverse()
    for at in range(0, len(gone), _AT_ONCE):  # who writes waits for each portion
        PlainTable(table).forget(gone[at : at + _AT_ONCE])
    return sum(each.rows for each in gone)


def _size(file: Path) -> int:
    with suppress(FileNotFoundError):
        return file.stat().st_size
    return 0
