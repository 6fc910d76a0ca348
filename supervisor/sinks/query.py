"""The words of a query that select rows, as FastAPI reads them from an address."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import Depends, Query

from ghcm.runtime.settings import Seconds
from ghcm.supervisor.models import canonical
from ghcm.supervisor.problems import Problem
from ghcm.supervisor.sinks.selection import Selection
from ghcm.types import Timestamp
from ghcm.values import from_json


def _selection(
    columns: Annotated[list[str] | None, Query(description="Which columns; all by default.")] = None,
    where: Annotated[list[str] | None, Query(description='A column and its value: "proto:tcp".')] = None,
    time: Annotated[
        str | None, Query(description="The column that tells when; the first timestamp by default.")
    ] = None,
    since: Annotated[str | None, Query(description="From this moment on.")] = None,
    until: Annotated[str | None, Query(description="Before this moment.")] = None,
    last: Annotated[Seconds | None, Query(description='Back from the newest moment: "90", "5m", "1h".')] = None,
    order: Annotated[list[str] | None, Query(description='Columns, "-" before those that go down.')] = None,
) -> Selection:
    return Selection(
        columns=names(columns),
        where=filters(where),
        time=time,
        since=moment("since", since),
        until=moment("until", until),
        last=last,
        order=names(order),
    )


Chosen: TypeAlias = Annotated[Selection, Depends(_selection)]
"""The selection that a request asks for, without limit and offset."""


def names(given: list[str] | None) -> tuple[str, ...]:
    """Names that are given with commas between them, or one by one.

    >>> names(["a,b", "c"])
    ('a', 'b', 'c')
    """
    return tuple(name.strip() for text in given or () for name in text.split(",") if name.strip())


def filters(given: list[str] | None) -> dict[str, str]:
    """What `where=column:value` asks for, by column; Problem 422 where there is no colon."""
    found: dict[str, str] = {}
    for text in given or ():
        name, colon, value = text.partition(":")
        if not colon:
            hint = f"write where={text}:VALUE."
            raise Problem(422, "GHCM-340", f'"{text}" is no condition: it has no ":"', hint=hint)
        found[name] = value
    return found


def moment(name: str, text: str | None) -> int | None:
    """The microseconds of a moment in a query; Problem 422 if it is none."""
    if text is None:
        return None
    try:
        micros = from_json(canonical(text, Timestamp()), Timestamp())
    except ValueError as error:
        hint = "write it as 2026-01-02T03:04:05Z; a + in an address is %2B."
        raise Problem(422, "GHCM-340", f'{name} cannot be "{text}": it is no moment', hint=hint) from error
    assert isinstance(micros, int)
    return micros
