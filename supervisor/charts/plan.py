"""What a chart of rows consists of: sums by axis and series, the greatest by themselves and the rest together.

Pure: rows in, drawing out. Columns have been checked (`ghcm.panels.panel`).
"""

import math
from typing import cast

import polars as pl

from ghcm.panels import Panel
from ghcm.supervisor.charts.drawing import Bars, Drawing, Lines, Series, clean
from ghcm.supervisor.charts.graph import graph_of
from ghcm.types import Decimal, Duration, Struct, Timestamp, Type, strip

_MOST_POINTS = 2_000
_X, _Y, _BY = "x", "y", "by"


def plan(panel: Panel, frame: pl.DataFrame, columns: Struct) -> Drawing:
    """The drawing of a panel that is a chart, of these rows."""
    match panel.kind:
        case "line":
            return _lines(panel, frame, columns, shares=False)
        case "bar":
            assert panel.x is not None
            return _bars(panel, frame, columns, panel.x, parts=False)
        case "share":
            assert panel.by is not None
            if panel.x is not None:
                return _lines(panel, frame, columns, shares=True)
            return _bars(panel, frame, columns, panel.by, parts=True)
        case _:  # "graph": which kinds there are has been checked
            return graph_of(panel, frame)


def _lines(panel: Panel, frame: pl.DataFrame, columns: Struct, *, shares: bool) -> Lines:
    """Series along the axis, or with `shares` their parts of the whole at each point."""
    assert panel.x is not None
    xs, series = (_measured if panel.by is None else _by_series)(panel, frame, columns)
    unit = "percent" if shares else panel.unit or _own_unit(panel, columns)
    if shares:
        sums = [sum(abs(each.values[at] or 0.0) for each in series) or 1.0 for at in range(len(xs))]

        def parts(values: list[float | None]) -> list[float | None]:
            return [100.0 * abs(value or 0.0) / total for value, total in zip(values, sums, strict=True)]

        series = [Series(each.name, parts(each.values)) for each in series]
    time = isinstance(strip(_type(columns, panel.x)), Timestamp)
    note = f"the newest {_MOST_POINTS:,} points" if len(xs) >= _MOST_POINTS else ""
    return Lines(panel.title, note, unit, time, shares or panel.stacked, xs, series)


def _bars(panel: Panel, frame: pl.DataFrame, columns: Struct, name: str, *, parts: bool) -> Bars:
    sums = (
        frame.select(_text(name).alias(_BY), _number(panel.y[0], columns).alias(_Y))
        .drop_nulls(_Y)
        .group_by(_BY)
        .agg(pl.col(_Y).sum())
        .sort([_Y, _BY], descending=[True, False])
    )
    names, values = [clean(each) for each in sums[_BY].to_list()], cast("list[float]", sums[_Y].to_list())
    shown = panel.shown
    rest = values[shown:]
    names, values = names[:shown], values[:shown]
    note = ""
    if parts and rest:
        names.append("other")
        values.append(math.fsum(rest))
    elif rest:
        note = f"and {len(rest):,} more"
    return Bars(panel.title, note, panel.unit or _own_unit(panel, columns), parts, names, values)


def _measured(panel: Panel, frame: pl.DataFrame, columns: Struct) -> tuple[list[float], list[Series]]:
    """One series for each measured column."""
    assert panel.x is not None
    measured = {f"y{at}": name for at, name in enumerate(panel.y)}
    numbers = [_number(name, columns).alias(key) for key, name in measured.items()]
    sums = (
        frame.select(_axis(panel.x, columns), *numbers)
        .drop_nulls(_X)
        .group_by(_X)
        .agg(pl.when(pl.col(key).is_not_null().any()).then(pl.col(key).sum()).alias(key) for key in measured)
        .sort(_X)
        .tail(_MOST_POINTS)
    )
    series = [Series(clean(name), cast("list[float | None]", sums[key].to_list())) for key, name in measured.items()]
    return cast("list[float]", sums[_X].to_list()), series


def _by_series(panel: Panel, frame: pl.DataFrame, columns: Struct) -> tuple[list[float], list[Series]]:
    """A series for each value of `by`, zero where it has no row; the greatest by themselves."""
    assert panel.x is not None and panel.by is not None
    rows = frame.select(
        _axis(panel.x, columns), _text(panel.by).alias(_BY), _number(panel.y[0], columns).alias(_Y)
    ).drop_nulls([_X, _Y])
    xs = cast("list[float]", rows[_X].unique().sort().tail(_MOST_POINTS).to_list())
    totals = rows.group_by(_BY).agg(pl.col(_Y).sum()).sort([_Y, _BY], descending=[True, False])
    names = cast("list[str]", totals[_BY].to_list())
    shown = names[: panel.shown] if len(names) > panel.shown + 1 else names
    kept = rows.with_columns(pl.when(pl.col(_BY).is_in(shown)).then(pl.col(_BY)).otherwise(pl.lit(None)).alias(_BY))
    sums: dict[tuple[object, object], float] = {
        (name, x): value for name, x, value in kept.group_by(_BY, _X).agg(pl.col(_Y).sum()).select(_BY, _X, _Y).rows()
    }
    series = [Series(clean(name), [sums.get((name, x), 0.0) for x in xs]) for name in shown]
    if len(shown) < len(names):
        series.append(Series("other", [sums.get((None, x), 0.0) for x in xs]))
    return xs, series


def _axis(name: str, columns: Struct) -> pl.Expr:
    if isinstance(strip(_type(columns, name)), Timestamp):
        return pl.col(name).cast(pl.Int64).cast(pl.Float64).alias(_X)
    return _number(name, columns).alias(_X)


def _number(name: str, columns: Struct) -> pl.Expr:
    """The column as finite floats; a duration in seconds."""
    match strip(_type(columns, name)):
        case Duration():
            number = pl.col(name).cast(pl.Int64).cast(pl.Float64) / 1e6
        case Decimal():
            number = pl.col(name).cast(pl.Float64)
        case _:  # columns that are measured are numbers: this has been checked
            number = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)


def _text(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String).fill_null("none")


def _type(columns: Struct, name: str) -> Type:
    field = columns.get(name)
    assert field is not None
    return field.type


def _own_unit(panel: Panel, columns: Struct) -> str:
    return "seconds" if isinstance(strip(_type(columns, panel.y[0])), Duration) else ""
