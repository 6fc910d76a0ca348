"""Records out of what was read: JSON objects by paths, cells by the names of a header; a union has the fields of the
record that its tag names.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, TypeAlias, cast

from ghcm.errors import GhcmError, suggest
from ghcm.formats.fields import field_readers, look_up
from ghcm.types import List, Map, Nullable, Struct, Type, is_nullable
from ghcm.values import Json, WrittenFloat
from ghcm.values.reading import MISSING

Row: TypeAlias = tuple[object, ...]
"""The canonical values of a record's fields, in order."""


def json_parser(*, written: bool, own: bool = False) -> Callable[[str], dict[str, Json]]:
    """The function that gives the one object in a text; ValueError where there is none. `written`: numbers keep their
    digits; `own`: a bare NaN or Infinity is a number, as Python writes it.
    """
    constant, written_float = None if own else _no_constant, WrittenFloat if written else None
    scan = json.JSONDecoder(parse_constant=constant, parse_float=written_float).raw_decode

    def parse(text: str) -> dict[str, Json]:
        try:
            found, end = scan(text)
        except json.JSONDecodeError:
            raise ValueError("no JSON") from None
        except RecursionError:
            raise ValueError("the JSON text is nested too deeply") from None
        if end != len(text):
            raise ValueError("no JSON: there is more behind the value")
        if not isinstance(found, dict):
            raise ValueError("no JSON object")
        return cast("dict[str, Json]", found)

    return parse


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"no JSON: {name}")


def object_reader(schema: Struct, *, own: bool = False) -> Callable[[dict[str, Json]], Row]:
    """The function that gives the record of a JSON object, whose fields stand under keys that are spelt like their
    whole paths, or else in nested objects. ValueError that names the field where one does not fit. `own` as in
    `from_json_field`.
    """
    check, names = union_check(schema), schema.names
    fields = [(path, "." not in path, read, owners) for path, read, owners in field_readers(schema, own=own)]

    def read(record: dict[str, Json]) -> Row:
        row: list[object] = []
        try:
            for path, flat, read_field, owners in fields:
                if owners is not None and row[0] not in owners:  # a field of another record of the union
                    row.append(None)
                    continue
                data = record.get(path, MISSING)
                row.append(read_field(data if flat or data is not MISSING else look_up(record, path)))
        except ValueError as error:
            raise ValueError(f'field "{names[len(row)]}": {error}') from None
        made = tuple(row)
        if check is not None:
            check(made)
        return made

    return read


class Cells:
    """Records of cells that stand in the columns of a header; `read` gives the function that reads those of a type."""

    def __init__(
        self, schema: Struct, file: str, header: Sequence[str], read: Callable[[Type], Callable[[str], object]]
    ) -> None:
        tags = dict(schema.cases)
        self.indices = column_indices(file, header, schema)
        self._width = len(header)
        self._fields = [
            (index, field.name, read(field.type), tags.get(field.name))
            for index, field in zip(self.indices, schema.fields, strict=True)
        ]
        self._check = union_check(schema)

    def row(self, cells: Sequence[str], whence: str) -> Row:
        """The record. ValueError where it has not as many cells as the header (`whence`), or names the field that does
        not fit.
        """
        if len(cells) != self._width:
            raise ValueError(f"expected {self._width} fields as in {whence}, found {len(cells)}")
        row: list[object] = []
        for index, name, read, tags in self._fields:
            try:
                row.append(None if index is None or (tags is not None and row[0] not in tags) else read(cells[index]))
            except ValueError as error:
                raise ValueError(f'field "{name}": {error}') from None
        made = tuple(row)
        if self._check is not None:
            self._check(made)
        return made


def column_indices(file: str, header: Sequence[str], schema: Struct) -> list[int | None]:
    """Where each field of the record stands in the header, None where it may be missing and is. GhcmError otherwise.

    >>> from ghcm.types import Field, Int, Nullable
    >>> column_indices("a.csv", ["b", "a"], Struct((Field("a", Int()), Field("c", Nullable(Int())))))
    [1, None]
    """
    found: list[int | None] = []
    missing: list[str] = []
    for field in schema.fields:
        path = field.path or field.name
        found.append(header.index(path) if path in header else None)
        if found[-1] is None and not is_nullable(field.type):
            missing.append(path)
    if missing:
        raise _missing(file, missing, header)
    return found


def _missing(file: str, missing: list[str], header: Sequence[str]) -> GhcmError:
    close = [(name, hint) for name in missing if (hint := suggest(name, header))]
    hints = [hint if len(missing) == 1 else f'for "{name}", {hint}' for name, hint in close]
    names = ", ".join(f'"{name}"' for name in missing)
    return GhcmError(
        f'cannot read "{file}": it has no column{"s" if len(missing) > 1 else ""} {names}',
        code="GHCM-736",
        detail=f"Its columns are {', '.join(header)}." if header else "It names no columns.",
        hint="; ".join(hints)
        or 'a field that stands elsewhere says so, from "column"; one that may be missing ends in ?.',
    )


Check: TypeAlias = Callable[[object], None]
"""Takes a canonical value; ValueError where a union in it lacks a field."""


def union_check(type_: Type) -> Check | None:
    """What looks at values of the type; None where there is no union in it."""
    match type_:
        case Nullable(of=of):
            inner = union_check(of)
            return None if inner is None else lambda value: None if value is None else inner(value)
        case List(item=item):
            each = union_check(item)
            return None if each is None else lambda value: _all(each, cast("Sequence[object]", value))
        case Map(value=held):
            of_value = union_check(held)
            if of_value is None:
                return None
            return lambda value: _all(of_value, list(cast("Mapping[object, object]", value).values()))
        case Struct(fields=fields):
            index_of = {field.name: index for index, field in enumerate(fields)}
            wanted: dict[object, list[tuple[int, str]]] = {}
            for tag, field, record in type_.needs:
                wanted.setdefault(tag, []).append((index_of[field], f'field "{field}" of "{record}" is missing'))
            parts = [(index, check) for index, field in enumerate(fields) if (check := union_check(field.type))]
            return _of_struct(wanted, parts) if wanted or parts else None
        case _:  # a type that holds no others
            return None


def _of_struct(wanted: Mapping[object, list[tuple[int, str]]], parts: Sequence[tuple[int, Check]]) -> Check:
    def check(value: object) -> None:
        row = cast("tuple[object, ...]", value)
        for index, missing in wanted.get(row[0], ()) if wanted else ():
            if row[index] is None:
                raise ValueError(missing)
        for index, look in parts:
            look(row[index])

    return check


def _all(check: Check, values: Sequence[object]) -> None:
    for value in values:
        check(value)
