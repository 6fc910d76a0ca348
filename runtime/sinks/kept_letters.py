"""The dead letters that are kept, as people look at them: counted, one by one or by reason and place, and cleared.

A table of them stands in `<folder>/<program>/<unit>`; `.<unit>.cleared` beside it says since when its letters count,
and `.<unit>.replayed` until when those of a task do not, because they have run through the program again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from ghcm.durable import flush
from ghcm.functions import Failure
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.dead_letter import DEAD_LETTER, LONGEST, table_of
from ghcm.runtime.formats.file_readers import read_file
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.spg.connectors import Files
from ghcm.tables.plain import PlainTable
from ghcm.tables.versions import Version, explained
from ghcm.values.timestamps import timestamp_text


def tables(folders: Iterable[Path], program: str | None = None, unit: str | None = None) -> list[Path]:
    """The tables of a program or of all, of a unit or of all, in the order of the folders."""
    found = (path for folder in folders for path in sorted(folder.glob("*/*")) if path.is_dir())
    return [path for path in found if program in (None, path.parent.name) and unit in (None, path.name)]


def counts(found: Iterable[Path]) -> dict[str, int]:
    """How many letters the tables have, by unit."""
    counted: dict[str, int] = {}
    for table in found:
        if _replayed(table):
            rows = sum(1 for _ in waiting(table))
        else:
            rows = sum(each.rows for each in _commits(table) if each.time > _cleared(table))
        if rows:
            counted[table.name] = counted.get(table.name, 0) + rows
    return counted


def letters(table: Path) -> Iterator[dict[str, Any]]:
    """The letters of a table as JSON, in order; `time` is that of their commit (microseconds since 1970 UTC)."""
    return ({**letter, "time": commit.time} for commit, letter in waiting(table))


def waiting(table: Path, *, whole: bool = False) -> Iterator[tuple[Version, dict[str, str]]]:
    """The letters of a table that were neither cleared nor replayed, in order, with their commits; or of them those
    whose input is `whole`.
    """
    since, replayed = _cleared(table), _replayed(table)
    for commit in _commits(table):
        for row in _rows(table, commit):
            letter = cast("dict[str, str]", dict(zip(DEAD_LETTER.names, row, strict=True)))
            told = _is_whole(letter)
            gone = commit.time <= since or (told and commit.time <= replayed.get(letter["task"], 0))
            if not gone and (told or not whole):
                yield commit, letter


def _is_whole(letter: Mapping[str, str]) -> bool:
    """Whether the input is as it was: long texts are cut off, and what is no UTF-8 is replaced."""
    raw = letter["reason"] == Failure.BAD_RECORD.value
    return not raw or (len(letter["input"]) < LONGEST and not letter["detail"].endswith("the text is not UTF-8"))


def mark_replayed(table: Path, task: str, until: Mapping[str, int]) -> None:
    """Show the letters of a task no more that were committed until one of these versions: `until` has their times."""
    times = [until[commit.version] for commit in _commits(table) if commit.version in until]
    replayed = _replayed(table)
    if times and max(times) > replayed.get(task, 0):
        mark = table.with_name(f".{table.name}.replayed")
        fresh = mark.with_suffix(".new")
        with fresh.open("w", encoding="utf-8") as file:
            json.dump({**replayed, task: max(times)}, file)
            flush(file)
        fresh.rename(mark)


def shown(found: Sequence[Path], reason: str | None = None, *, each: bool = False) -> list[dict[str, Any]]:
    """The letters of these tables, of that reason or all, with times as text: each, the latest first; or for each
    reason and place how many there are, most first, since when until when, and the first of them.
    """
    kept = (one for table in found for one in letters(table) if reason in (None, one["reason"]))
    if each:
        return [{**one, "time": timestamp_text(one["time"])} for one in sorted(kept, key=lambda one: -one["time"])]
    groups: dict[tuple[object, ...], dict[str, Any]] = {}
    for one in kept:
        time = one.pop("time")
        group = groups.setdefault(tuple(one[name] for name in _PLACE), {"count": 0, **one, "first": time, "last": time})
        group |= {"count": group["count"] + 1, "first": min(group["first"], time), "last": max(group["last"], time)}
    listed = sorted(groups.values(), key=lambda group: -group["count"])
    return [{**one, "first": timestamp_text(one["first"]), "last": timestamp_text(one["last"])} for one in listed]


_PLACE = ("reason", "unit", "task", "origin")


def clear(found: Sequence[Path]) -> int:
    """Show the letters that are there now no more; how many. Jobs that write or recover find their tables whole."""
    cleared = sum(counts(found).values())
    for table in found:
        _mark(table).write_text(str(now_us()), encoding="ascii")
    return cleared


def _commits(table: Path) -> list[Version]:
    with explained(table, "read"):
        return PlainTable(table).commits()


def _rows(table: Path, commit: Version) -> Iterator[Row]:
    """The rows of a version; none where it was removed meanwhile."""
    connector = cast("Files", table_of(table).connector)
    for file in commit.files:
        with explained(table, "read"), suppress(FileNotFoundError):
            yield from read_file(table / file.name, connector, DEAD_LETTER)


def _mark(table: Path) -> Path:
    return table.with_name(f".{table.name}.cleared")


def _replayed(table: Path) -> dict[str, int]:
    mark = table.with_name(f".{table.name}.replayed")
    return cast("dict[str, int]", json.loads(mark.read_text(encoding="utf-8"))) if mark.is_file() else {}


def _cleared(table: Path) -> int:
    mark = _mark(table)
    return int(mark.read_text(encoding="ascii")) if mark.is_file() else 0
