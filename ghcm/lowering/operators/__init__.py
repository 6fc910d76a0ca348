"""The type rules of the operators, one function for each, total over the table `ghcm.operators`."""

from collections.abc import Callable, Mapping

from ghcm.language import ast
from ghcm.lowering.drafts import Bound, Flow, Raw, Rule, SourceRule, Step
from ghcm.lowering.operators.ends import behind_mistake, publish, reply, to
from ghcm.lowering.operators.groups import (
    aggregate_by_key,
    changes,
    count,
    distinct,
    group_by_key,
    reduce_by_key,
    sort,
    top,
)
from ghcm.lowering.operators.inputs import as_record, read, union
from ghcm.lowering.operators.iterations import iterate
from ghcm.lowering.operators.joins import join
from ghcm.lowering.operators.rows import (
    filter_,
    flat_map,
    key_by,
    map_,
    map_to_pair,
    map_values,
    named,
    python,
    sample,
)
from ghcm.lowering.operators.sources import files, generate, kafka, memory, settle, socket
from ghcm.lowering.operators.times import event_time, window

__all__ = ["READS", "RULES", "SOURCES", "UNIONS", "as_record", "behind_mistake", "settle"]

SOURCES: Mapping[str, SourceRule] = {
    "files": files,
    "generate": generate,
    "kafka": kafka,
    "memory": memory,
    "socket": socket,
}
"""What stands at the beginning."""

READS: Mapping[str, Callable[[Step, ast.Expr], Bound]] = {"read": read}
"""What begins with a name that is no collection."""

UNIONS: Mapping[str, Callable[[Step, Flow | Raw], Bound]] = {"as": as_record, "union": union}
"""What takes raw collections, too."""

RULES: Mapping[str, Rule] = {
    "aggregate_by_key": aggregate_by_key,
    "changes": changes,
    "count": count,
    "distinct": distinct,
    "event_time": event_time,
    "filter": filter_,
    "flat_map": flat_map,
    "group_by_key": group_by_key,
    "iterate": iterate,
    "join": join,
    "key_by": key_by,
    "map": map_,
    "map_to_pair": map_to_pair,
    "map_values": map_values,
    "named": named,
    "publish": publish,
    "python": python,
    "reduce_by_key": reduce_by_key,
    "reply": reply,
    "sample": sample,
    "sort": sort,
    "to": to,
    "top": top,
    "window": window,
}
"""What takes a collection."""
