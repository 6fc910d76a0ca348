"""Whether a panel fits the rows that it shows: every column it names is there and holds what its role needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ghcm.errors import suggest
from ghcm.panels.panel import CHARTS, KINDS, OPTIONS, Panel
from ghcm.types import Bytes, Decimal, Duration, Field, Float, Int, Int32, List, Map, Struct, Timestamp, strip


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a panel; `option` is the word of its declaration, `found` what stands there."""

    option: str
    found: str
    message: str
    detail: str = ""
    hint: str = ""


def check(panel: Panel, columns: Struct) -> list[Mistake]:
    """All that is wrong with showing these columns so."""
    kind = KINDS.get(panel.kind)
    if kind is None:
        hint = suggest(panel.kind, KINDS)
        return [Mistake("kind", panel.kind, f'there is no kind "{panel.kind}"', f"There are {', '.join(KINDS)}.", hint)]
    named = dict(_named(panel))
    missing = [name for name in kind.needs if not named.get(name)]
    found = [_missing(panel.kind, name) for name in missing]
    for option, names in named.items():
        for name in names:
            plain = name.removeprefix("-") if OPTIONS[option].column == "order" else name
            if (mistake := _column(option, plain, columns)) is not None:
                found.append(mistake)
    if panel.kind in CHARTS and panel.kind != "line" and len(panel.y) > 1:
        found.append(Mistake("y", panel.y[1], f'"{panel.kind}" measures one column, found {len(panel.y)}'))
    if panel.by is not None and len(panel.y) > 1:
        hint = "leave one of them out."
        found.append(Mistake("y", panel.y[1], '"by" and several columns "y" do not go together', hint=hint))
    if panel.roles and len(panel.roles) != 3:
        found.append(Mistake("roles", panel.roles[0], f'"roles" are three texts, found {len(panel.roles)}'))
    return found


def _named(panel: Panel) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The columns that each option of the panel names."""
    attributes = {"from": "source", "to": "target"}
    for option, described in OPTIONS.items():
        if described.column:
            value: object = getattr(panel, attributes.get(option, option))
            if value:
                yield option, value if isinstance(value, tuple) else (str(value),)
    if panel.where:
        yield "where", tuple(panel.where)


def _missing(kind: str, option: str) -> Mistake:
    return Mistake(
        "kind", kind, f'"{kind}" needs "{option}"', f'"{option}" is {OPTIONS[option].about}.', f'add {option}="COLUMN".'
    )


def _column(option: str, name: str, columns: Struct) -> Mistake | None:
    field = columns.get(name)
    if field is None:
        has = ", ".join(f'"{each}"' for each in columns.names)
        hint = suggest(name, columns.names)
        return Mistake(option, name, f'there is no column "{name}"', f"There are {has}.", hint)
    wanted = OPTIONS[option].column
    if _fits(field, wanted):
        return None
    return Mistake(option, name, f'"{option}" cannot be the column "{name}": it is {field.type}, no {wanted}')


def _fits(field: Field, wanted: str) -> bool:
    match wanted:
        case "number":
            return is_number(field)
        case "time":
            return isinstance(strip(field.type), Timestamp)
        case "scalar" | "order" | "":
            return not isinstance(strip(field.type), Struct | List | Map | Bytes)
        case _:
            return True


def is_number(field: Field) -> bool:
    """Whether the column can be added up and measured."""
    return isinstance(strip(field.type), Int | Int32 | Float | Decimal | Duration)
