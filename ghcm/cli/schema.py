"""`ghcm schema infer`: write the record of a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import Json
from ghcm.errors import GhcmError

if TYPE_CHECKING:
    from ghcm.inference import Inferred
    from ghcm.types import Struct
    from ghcm.values import Json as Data


File = Annotated[Path, typer.Argument(metavar="FILE", help="A file of records, plain or packed (.gz, .zst).")]
Format = Annotated[
    str | None,
    typer.Option("--format", help="json, csv, tsv, zeek, eve, parquet or arrow; by default as its name or start says."),
]
Name = Annotated[str | None, typer.Option("--name", help="The record's name; by default the file's.")]
Rows = Annotated[int, typer.Option("--rows", min=1, help="How many records are looked at.")]
Python = Annotated[bool, typer.Option("--python", help="Write classes of the Python API.")]


def infer(
    file: File, format: Format = None, name: Name = None, rows: Rows = 1000, python: Python = False, json: Json = False
) -> None:
    """Write the record of a file, from its first records."""
    from ghcm.inference import infer
    from ghcm.inference.infer import FORMATS
    from ghcm.inference.written import as_python, as_text

    if format is not None and format not in FORMATS:
        raise GhcmError(f'there is no format "{format}"', code="GHCM-617", detail=f"Formats are {', '.join(FORMATS)}.")
    if name is not None:
        _check_name(name)
    inferred = infer(file, format, name, rows)
    text = as_python(inferred, str(file)) if python else as_text(inferred, str(file))
    if json:
        terminal.json_line(_document(inferred, str(file), text))
        return
    terminal.say(text.rstrip())
    for reason in inferred.left_out:
        terminal.note(f"left out: {reason}")
    if inferred.dead:
        terminal.note(f"not decoded: {len(inferred.dead)} of {inferred.rows + len(inferred.dead)} records")


def _check_name(name: str) -> None:
    from ghcm.schemas.records import field_name, record_name

    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or field_name(name) != name:
        detail = "A name has the letters a to z, digits and underscores, and is no reserved word."
        hint = f"give another: --name {record_name(name)}"
        raise GhcmError(f'"{name}" cannot be the name of a record', code="GHCM-603", detail=detail, hint=hint)


def _document(inferred: Inferred, file: str, text: str) -> dict[str, Data]:
    from ghcm.schemas.records import records_in

    def fields(record: Struct) -> list[Data]:
        units = inferred.units if record == inferred.record else dict[str, str]()
        return [
            {"name": each.name, "type": str(each.type), "from": each.path or each.name}
            | ({"unit": units[each.name]} if each.name in units else {})
            for each in record.fields
        ]

    return {
        "file": file,
        "format": inferred.format,
        "rows": inferred.rows,
        "not_decoded": list(inferred.dead),
        "left_out": list(inferred.left_out),
        "records": [{"name": record.name, "fields": fields(record)} for record in records_in(inferred.record)],
        "text": text,
    }
