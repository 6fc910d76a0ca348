"""Queries of a streaming SQL over Kafka, as its tests had them in 2018.

A topic becomes a file: CSV where the source has separated values, JSON lines elsewhere. Beside the columns stand the
key and the time of the record, its window where it has one, its place among all records, and whether it deletes its
key. A record without a value, which deletes a key of a table, is one that a stream leaves out, and a dead letter of
ours. Of the results, which are logs of changes where a table is made, the last of each key and window counts; lists
that the source collects in the order of arrival are sorted, as ours are.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, cast

from tests.conformance.foreign.cases import Case, CaseSet, json_lines
from tests.conformance.foreign.ksql_waits import DIFFERS, REFUSED, WAITS

__all__ = ["KSQL"]

_CREATED = re.compile(r"CREATE (STREAM|TABLE)\s+(\w+)\s*\((.*)\)\s*WITH\s*\((.*)\);", re.IGNORECASE | re.DOTALL)
_TOPIC = re.compile(r"kafka_topic\s*=\s*'(\w+)'", re.IGNORECASE)
_UNORDERED = ("collect-list", "collect-set")


@cache
def _cases(shared: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((shared / "conformance/ksqldb_apache2_2018/query-validation-tests").glob("*.json")):
        for each in json.loads(path.read_text(encoding="utf-8"))["tests"]:
            name = f"{path.stem}/{re.sub('[^a-z0-9]+', '_', each['name'].lower()).strip('_')}"
            found[f"{name}_2" if name in found else name] = each
    return found


def _names(shared: Path) -> Sequence[str]:
    return sorted(_cases(shared))


def _load(shared: Path, name: str) -> Case:
    each = _cases(shared)[name]
    expected = _left(each["statements"][-1], each["outputs"], sort=name.startswith(_UNORDERED))
    inputs = each.get("inputs", [])
    return Case(
        _inputs(each["statements"], inputs),
        expected,
        loose=any(isinstance(row, list) for row in expected),
        dead=sum(_left_out(each["statements"], record) for record in inputs),
    )


def _inputs(statements: Sequence[str], records: Sequence[dict[str, Any]]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for made in filter(None, map(_CREATED.fullmatch, statements)):
        topic = _TOPIC.search(made[4])
        assert topic is not None
        rows = [
            (each["value"], _beside(place, each)) for place, each in enumerate(records) if each["topic"] == topic[1]
        ]
        columns = [part.split()[0].strip("`").lower() for part in re.split(r",(?![^<]*>)", made[3])]
        if "DELIMITED" in made[4].upper():
            files[f"{topic[1]}.csv"] = _csv(columns, rows)
        else:
            stream = made[1].upper() == "STREAM"
            files[f"{topic[1]}.jsonl"] = json_lines(
                [None if stream and value is None else _lower(value) | beside for value, beside in rows]
            )
    for topic in {each["topic"] for each in records} - {name.split(".")[0] for name in files}:
        written = [(place, each) for place, each in enumerate(records) if each["topic"] == topic]
        values = [_lower(each["value"]) | _beside(place, each) for place, each in written if _is_object(each)]
        files[f"{topic}.jsonl"] = json_lines(values)
    return files


def _left_out(statements: Sequence[str], record: Mapping[str, Any]) -> bool:
    """Whether a stream that the statements make has a record without a value."""
    created = (made for made in map(_CREATED.fullmatch, statements) if made and made[1].upper() == "STREAM")
    topics = [topic[1] for topic in (_TOPIC.search(made[4]) for made in created) if topic]
    return record["value"] is None and record["topic"] in topics


def _is_object(record: Mapping[str, Any]) -> bool:
    return isinstance(record["value"], dict)


def _csv(columns: Sequence[str], rows: Sequence[tuple[Any, Mapping[str, object]]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, *(rows[0][1] if rows else ("rowkey", "rowtime", "position", "deleted"))])
    for value, beside in rows:
        cells = value.replace("Infinity", "inf").split(",") if value is not None else [""] * len(columns)
        writer.writerow([*cells, *(str(each).lower() if isinstance(each, bool) else each for each in beside.values())])
    return text.getvalue().encode()


def _beside(place: int, record: Mapping[str, Any]) -> dict[str, object]:
    return {
        "rowkey": str(record["key"]),
        "rowtime": _moment(record["timestamp"]),
        "position": place,
        "deleted": record["value"] is None,
        **{f"window_{name}": _moment(record["window"][name]) for name in ("start", "end") if "window" in record},
    }


def _left(statement: str, outputs: Sequence[dict[str, Any]], *, sort: bool) -> list[object]:
    """What the last statement's results leave."""
    mine = [each for each in outputs if each["topic"] == outputs[-1]["topic"]]
    if not re.match(r"CREATE TABLE", statement, re.IGNORECASE):
        return [_row(each, sort=sort) for each in mine if each["value"] is not None]
    last = {(str(each["key"]), json.dumps(each.get("window"))): each for each in mine}
    return [_row(each, sort=sort) for each in last.values() if each["value"] is not None]


def _row(output: Mapping[str, Any], *, sort: bool) -> object:
    """The columns of a result, and its window behind them."""
    value, window = output["value"], output.get("window")
    bounds = None if window is None else {name: _moment(window[name]) for name in ("start", "end")}
    if isinstance(value, str):
        return [*value.replace("Infinity", "inf").split(","), *(bounds or {}).values()]
    cells = cast("Mapping[str, object]", value)
    ordered = {name: _sorted(cell) if sort else cell for name, cell in cells.items()}
    return ordered | ({} if bounds is None else {"window": bounds})


def _sorted(cell: object) -> object:
    return sorted(cell) if isinstance(cell, list) else cell


def _lower(value: Mapping[str, object] | None) -> dict[str, object]:
    """The columns of a record by the names that the statements give them."""
    return {name.lower(): cell for name, cell in (value or {}).items()}


def _moment(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


KSQL = CaseSet("ksql", "KSQL's queries of 2018", _load, _names, waits=WAITS, differs=DIFFERS, refused=REFUSED)
