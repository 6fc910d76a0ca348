"""Where an aggregation finds keys, values and windows in its rows, and what its results look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ghcm.spg.graph import Task
from ghcm.types import Collection, Null, Shape, Type


@dataclass(frozen=True, slots=True)
class GroupLayout:
    """Where key, value and window stand in the input rows (None: nowhere), and the columns of the output."""

    key: int | None
    value: int | None
    window: int | None
    key_type: Type
    names: tuple[str, ...]


def layout_of(takes: Collection, task: Task) -> GroupLayout:
    """The layout of a task that takes such a collection."""
    columns = takes.columns
    key = columns.get("key") if takes.shape is not Shape.STREAM else None
    return GroupLayout(
        None if key is None else columns.index("key"),
        columns.index("value") if "value" in columns.names else None,
        columns.index("window") if takes.windowed else None,
        Null() if key is None else key.type,
        task.schema.names,
    )


def spread(value: object) -> tuple[object, ...]:
    """The fields of a result that is a struct, or the one value."""
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
