"""What the queries of KSQL wait for that have no program, in which rows results of ours differ, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.foreign.cases import Difference

__all__ = ["DIFFERS", "REFUSED", "WAITS"]

_AVRO = "nothing: columns that a registry of Avro schemas knows; a program declares its records (`ghcm schema infer`)"

WAITS: Mapping[str, str] = {
    "elements/validate_avro_fails_on_incompatible_schema_evolution": _AVRO,
    "elements/validate_avro_ok_without_elements": _AVRO,
}

_CUT = "the source compares the first results only, and leaves out those of its last record"
_EAGER = "the source gives a null before a partner has come, and ours a final result (DESIGN 12)"


def _joined(
    id_: int | None, name: str | None, value: int | None, f1: str | None = None, f2: int | None = None
) -> object:
    return {"T_ID": id_, "NAME": name, "VALUE": value, "F1": f1, "F2": f2}


_ALONE = [_joined(0, "zero", 0)]

DIFFERS: Mapping[str, Difference] = {
    "histogram/histogram_on_a_table": Difference(
        _CUT,
        more=[{"REGION": "west", "COUNTS": {"carol": 1, "dave": 1}}],
        less=[{"REGION": "west", "COUNTS": {"carol": 1, "dave": 1, "bob": 1}}],
    ),
    "joins/stream_stream_inner_join_with_out_of_order_messages": Difference(
        _CUT, more=[_joined(0, "late-message", 10000, "a", 10)]
    ),
    "joins/stream_stream_left_join": Difference(_EAGER, less=_ALONE),
    "joins/stream_stream_outer_join": Difference(_EAGER, less=_ALONE),
    "joins/table_table_left_join": Difference(_CUT, more=[_joined(90, "ninety", 90)]),
}

_COLUMNS = "no columns are defined"
_UNGROUPED = "an expression that is no part of the group"

REFUSED: Mapping[str, str] = {
    "elements/validate_delimited_fails_without_elements": _COLUMNS,
    "elements/validate_json_fails_without_elements": _COLUMNS,
    "group-by/group_by_with_expression_not_in_select": _UNGROUPED,
    "group-by/group_by_with_function_not_in_select": _UNGROUPED,
    "window-bounds/none": "gives nulls for bounds of windows where there are none; ours has no such column there",
}
