"""Keyed aggregations in columns: the pre-aggregation of a batch, and what is done with groups that stay columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ghcm.codegen.native.aggregates import Added
from ghcm.codegen.native.column_expressions import ColumnScope, guard
from ghcm.codegen.native.column_text import ATOM, varies
from ghcm.codegen.native.reducers import Partial, all_merged, struct_result
from ghcm.codegen.native.row_text import tuple_text
from ghcm.expr import Lambda
from ghcm.reducers import Aggregate


@dataclass(frozen=True, slots=True)
class Grouping:
    """How groups are told apart and what is said of them: `name` begins the names of their functions, `given` are the
    columns of the results, which have event times if it is `timed`."""

    name: str
    windowed: bool
    keyed: bool
    given: tuple[str, ...]
    timed: bool

    @property
    def keys(self) -> list[str]:
        """The columns by which groups are told apart once they were."""
        return [*(["key"] if self.keyed else []), *(["start", "end"] if self.windowed else [])]


def argument_columns(aggregates: tuple[Aggregate, ...]) -> tuple[list[str], list[Added]]:
    """The lines before Polars groups, and for each aggregate the texts of its columns; constants need a column of
    their own.
    """
    lines: list[str] = []
    constants: list[str] = []
    texts: list[Added] = []

    def column_text(function: Lambda | None, name: str) -> str:
        if function is None:
            return ""
        scope = ColumnScope()
        scope.bind_column(function.parameters[0], "value")
        column = scope.value(function.body)
        lines.extend(guard(column.fails))
        if varies(function.body, column):
            return column.at(ATOM)
        constants.append(f'{column.at(ATOM)}.alias("{name}")')
        return f'pl.col("{name}")'

    for index, aggregate in enumerate(aggregates):
        argument = column_text(aggregate.argument, f"a{index}")
        place = 'pl.col("@time")' if aggregate.by_time else column_text(aggregate.order, f"b{index}")
        texts.append(Added(argument, place, 'pl.col("value")'))
    return [*lines, *([f"frame = frame.with_columns({', '.join(constants)})"] if constants else [])], texts


def columnar_functions(
    grouping: Grouping,
    parts: Sequence[Partial],
    prepared: Sequence[str] = (),
    *,
    always: bool = False,
    fields: Sequence[str] | None = None,
) -> dict[str, str]:
    """The texts of `<name>_partial`, `_states` and, where groups can stay columns, `_merged` and `_results`, by what
    comes behind the name.

    `prepared` are the lines before Polars groups. `always`: a state is a tuple even if it has one part. `fields` are
    the names in a result, None where it is that of the only part.
    """
    found = {"partial": _partial(grouping, parts, prepared), "states": _states(grouping.name, parts, always)}
    if text := _merged(grouping, parts):
        found["merged"] = text
        if text := _results(grouping, parts, fields):
            found["results"] = text
    return found


def _partial(grouping: Grouping, parts: Sequence[Partial], prepared: Sequence[str]) -> str:
    """The text of the function that pre-aggregates a batch."""
    keys = [*(['"key"'] if grouping.keyed else []), *(["*columns.WINDOW"] if grouping.windowed else [])]
    columns = [f'{text}.alias("{name}")' for part in parts for name, text in part.columns]
    lines = [*prepared, _returned(_grouped("frame", ", ".join(keys), ", ".join(columns)), parts)]
    head = f"def {grouping.name}_partial(frame: pl.DataFrame, parameters: Parameters) -> pl.DataFrame | None:"
    return "\n".join([head, *(f"    {line}" for line in lines)])


def _merged(grouping: Grouping, parts: Sequence[Partial]) -> str:
    """The text of the function that makes one row per group; empty where there is none."""
    texts = all_merged(parts)
    if not texts:
        return ""
    orders = {part.order for part in parts if part.order}
    ordered = ""
    if len(orders) == 1:
        texts = tuple(text for part in parts for text in part.in_order or part.merged)
        ordered = f".sort({', '.join(*orders)}, nulls_last=False)"
    names = [name for part in parts for name, _ in part.columns]
    columns = ", ".join(f'{text}.alias("{name}")' for name, text in zip(names, texts, strict=True))
    keys = ", ".join(f'"{key}"' for key in grouping.keys)
    grouped = _grouped(f"frame{ordered}", keys, columns)
    return _columnar(grouping, "merged", [_returned(grouped, parts)])


def _grouped(frame: str, keys: str, columns: str) -> str:
    """One row per group, in the order in which groups are met: what is run again comes out alike."""
    return f"{frame}.group_by({keys}, maintain_order=True).agg({columns})" if keys else f"{frame}.select({columns})"


def _returned(grouped: str, parts: Sequence[Partial]) -> str:
    """The line that returns the groups, with what follows once they are made; rows add floats that are not finite."""
    texts = [text for part in parts for text in part.then]
    made = f"{grouped}.with_columns({', '.join(texts)})" if texts else grouped
    floats = "".join(f', "{name}"' for part in parts for name in part.floats)
    return f"return columns.finite({made}{floats})" if floats else f"return {made}"


def _results(grouping: Grouping, parts: Sequence[Partial], fields: Sequence[str] | None) -> str:
    """The text of the function that makes the results of merged rows; empty where there is none."""
    value = struct_result(fields, parts) if fields is not None else parts[0].result
    if not value or not all(name in ("key", "value", "window") for name in grouping.given):
        return ""
    texts = {"key": '"key"', "value": f'({value}).alias("value")', "window": "*columns.CLOSED"}
    columns = [texts[name] for name in grouping.given]
    columns += ["*columns.CLOSED_TIMES"] if grouping.windowed and grouping.timed else []
    unsure = [mask for part in parts for mask in part.unsure]
    guards = [f"if columns.any_fails(frame, {' | '.join(unsure)}):", "    return None"] if unsure else []
    return _columnar(grouping, "results", [*guards, f"return frame.select({', '.join(columns)})"])


def _columnar(grouping: Grouping, name: str, lines: list[str]) -> str:
    head = f"def {grouping.name}_{name}(frame: pl.DataFrame) -> pl.DataFrame | None:"
    return "\n".join([head, *(f"    {line}" for line in lines)])


def _states(name: str, parts: Sequence[Partial], always: bool) -> str:
    names = [column for part in parts for column, _ in part.columns]
    state = tuple_text([part.state for part in parts]) if always else parts[0].state
    if [state] == names:
        text = f'frame["{state}"].to_list()'
    else:
        source = ", ".join(f'frame["{column}"].to_list()' for column in names)
        source = f"zip({source}, strict=True)" if len(names) > 1 else source
        text = f"[{state} for {', '.join(names)} in {source}]"
    return f"def {name}_states(frame: pl.DataFrame) -> list[Any]:\n    return {text}"
