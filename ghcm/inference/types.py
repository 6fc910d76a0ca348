"""The type that all of some JSON values, or all cells of a column, have, and those that the headers of Zeek's logs say.

A type is only given where the readers of the formats take every value, so that what is inferred decodes what it was
inferred from.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from ghcm import types
from ghcm.formats.fields import from_json_field, from_text_field
from ghcm.schemas.records import Unmapped, distinct, field_name
from ghcm.types import Type, as_nullable
from ghcm.values import Json

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_ZEROS = re.compile(r"[+-]?0[0-9]+", re.ASCII)
_MANY = 32
"""Keys from which objects of which none holds half of them are maps."""
_DEEPEST = 64
"""How deep a record goes; what is below has no type."""
_CLOCKS = ("ts", "time", "timestamp", "at")
_FEW = 20
"""One value of so many may be of another kind than all the others: its record does not fit, and the field stays."""
_EARLIEST, _LATEST = 315_532_800, 4_102_444_800
"""Seconds from 1980 to 2100: a number of that size under the name of a clock is a moment."""


def json_struct(records: Sequence[dict[str, Json]], left: list[str], path: str = "") -> types.Struct:
    """The fields of objects in the order in which they appear. What has no type is left out and noted."""
    keys = dict.fromkeys(key for record in records for key in record)
    names = distinct(field_name(key) for key in keys)
    fields: list[types.Field] = []
    for key, name in zip(keys, names, strict=True):
        if not key:
            left.append(f'"{path}": a field without a name')
            continue
        values = [record[key] for record in records if record.get(key) is not None]
        try:
            type_ = json_type(_of_most(values), left, f"{path}{key}", name)
        except Unmapped as error:
            left.append(f'"{path}{key}": {error}')
            continue
        type_ = type_ if len(values) == len(records) else as_nullable(type_)
        fields.append(types.Field(name, type_, None if name == key else key))
    return types.Struct(tuple(fields))


def _of_most(values: Sequence[Json]) -> Sequence[Json]:
    """The values without the few that are of another kind than nearly all."""
    kinds = [_kind(value).replace("number", "int") for value in values]
    most = max(set(kinds), key=kinds.count, default="")
    if (len(kinds) - kinds.count(most)) * _FEW > len(kinds):
        return values
    return [value for value, kind in zip(values, kinds, strict=True) if kind == most]


def json_type(values: Sequence[Json], left: list[str], path: str, name: str = "") -> Type:
    """The type of values that are not null; `string` where there are none. Raises `Unmapped` where none fits all."""
    kinds = {_kind(value) for value in values}
    if path.count(".") + path.count("[]") > _DEEPEST:
        raise Unmapped(f"it is nested more than {_DEEPEST} deep")
    match sorted(kinds):
        case []:
            return types.String()
        case ["bool"]:
            return types.Bool()
        case ["string"]:
            texts = cast("Sequence[str]", values)
            return _text_type(texts, lambda type_: _reads(from_json_field(type_), texts))
        case ["number"] | ["int"] | ["int", "number"]:
            return _number_type(values, name)
        case ["list"]:
            items = [item for value in values for item in cast("list[Json]", value)]
            given = [item for item in items if item is not None]
            item = json_type(given, left, f"{path}[]")
            return types.List(item if len(given) == len(items) else as_nullable(item))
        case ["object"]:
            return _object_type([cast("dict[str, Json]", value) for value in values], left, path)
        case _:
            counts = ", ".join(f"{_count(values, kind)} of {kind}" for kind in sorted(kinds))
            raise Unmapped(f"its values have no type in common ({counts})")


def cell_type(cells: Sequence[str], name: str = "", *, words: bool = True) -> Type:
    """The type of the cells of a column that are not empty; `string` where there are none. `words`: `true` and `false`
    are such."""
    if not cells or any(_ZEROS.fullmatch(cell) for cell in cells):  # what has zeros before it is a code
        return types.String()

    def takes(type_: Type) -> bool:
        return _reads(from_text_field(type_), cells)

    if words and takes(types.Bool()):
        return types.Bool()
    if takes(types.Float()):
        if is_clock(name) and all(_EARLIEST <= float(cell) < _LATEST for cell in cells):
            return types.Timestamp()
        return types.Int() if takes(types.Int()) else types.Float()
    return _text_type(cells, takes)


def _text_type(texts: Iterable[str], takes: Callable[[Type], bool]) -> Type:
    if all(_DAY.match(text) for text in texts):
        return next((type_ for type_ in (types.Date(), types.Timestamp()) if takes(type_)), types.String())
    return types.String()


def _number_type(values: Sequence[Json], name: str) -> Type:
    numbers = cast("Sequence[float]", values)
    if is_clock(name) and all(_EARLIEST <= number < _LATEST for number in numbers):
        return types.Timestamp()
    return types.Int() if _reads(from_json_field(types.Int()), numbers) else types.Float()


def is_clock(name: str) -> bool:
    """Whether numbers under that name may be moments."""
    return name.lower() in _CLOCKS or name.lower().endswith(("_at", "_ts", "time", "_ms", "_us", "_ns", "_millis"))


def unit_of(numbers: Sequence[int]) -> str | None:
    """What whole numbers count if they are moments from 1980 to 2100; None where they are none, or seconds.

    >>> unit_of([1754006400000, 1754006401000])
    'ms'
    """
    for unit, parts in (("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        if numbers and all(_EARLIEST * parts <= number < _LATEST * parts for number in numbers):
            return unit
    return None


def _object_type(objects: Sequence[dict[str, Json]], left: list[str], path: str) -> Type:
    """A record, or a map where the keys are data."""
    keys = {key for each in objects for key in each}
    if not keys:
        return types.Map(types.String(), types.String())
    if len(keys) >= _MANY and all(len(each) * 2 < len(keys) for each in objects):
        values = [value for each in objects for value in each.values()]
        given = [value for value in values if value is not None]
        try:
            held = json_type(given, [], f"{path}[]")
        except Unmapped:
            pass
        else:
            return types.Map(types.String(), held if len(given) == len(values) else as_nullable(held))
    struct = json_struct(objects, left, f"{path}.")
    if not struct.fields:
        raise Unmapped("none of its fields has a type")
    return struct


def _reads(read: Callable[[str], object] | Callable[[Json], object], values: Iterable[Json]) -> bool:
    reader = cast("Callable[[Json], object]", read)
    try:
        for value in values:
            reader(value)
    except ValueError:
        return False
    return True


def _kind(value: Json) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "list"
        case _:
            return "object"


def _count(values: Sequence[Json], kind: str) -> int:
    return sum(_kind(value) == kind for value in values)


_TYPES: dict[str, Type] = {
    "time": types.Timestamp(),
    "interval": types.Duration(),
    "count": types.Int(),
    "int": types.Int(),
    "port": types.Int(),
    "double": types.Float(),
    "bool": types.Bool(),
}


def zeek_columns(lines: Sequence[str]) -> dict[str, Type | None]:
    r"""The columns of all headers in order; None where no type is said.

    >>> {name: str(type_) for name, type_ in zeek_columns(["#fields\tts\ttags", "#types\ttime\tset[addr]"]).items()}
    {'ts': 'timestamp', 'tags': 'list<string?>'}
    """
    separator = "\t"
    fields: list[str] = []
    columns: dict[str, Type | None] = {}
    for line in lines:
        if line.startswith("#separator "):
            separator = line.removeprefix("#separator ").encode().decode("unicode_escape", "replace")
        word, *parts = line.split(separator) if line.startswith("#") else [""]
        if word == "#fields":
            fields = parts
            columns |= {name: columns.get(name) for name in fields}
        elif word == "#types":
            columns |= {name: _type(said) for name, said in zip(fields, parts, strict=False)}
    return columns


def _type(said: str) -> Type:
    word, _, inner = said.removesuffix("]").partition("[")
    if word in ("set", "vector") and inner:
        return types.List(types.Nullable(_TYPES.get(inner, types.String())))
    return _TYPES.get(said, types.String())
