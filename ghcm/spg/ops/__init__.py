"""What a task does: the closed set of operations of the SPG.

Plain frozen data. The facts of an operation stand beside it as traits; where a layer has to choose by class, the
`match` is total. Types of inputs and outputs stand on the tasks; `ghcm.spg.verify` checks how they belong together.
"""

from __future__ import annotations

from typing import TypeAlias

from ghcm.spg.connectors import Connector, Files, Format, Generate, Kafka, Memory, Parquet, Redis, Socket
from ghcm.spg.joining import JoinKind
from ghcm.spg.ops.ends import CallTemplate, Policy, Publish, ReadSink, ReadTable, Reply, Source, To
from ghcm.spg.ops.groups import (
    AggregateByKey,
    Changes,
    Count,
    Distinct,
    GroupByKey,
    Iterate,
    Join,
    ReduceByKey,
    Sort,
    Top,
    Until,
)
from ghcm.spg.ops.rows import (
    ArrivalTime,
    EventTime,
    Filter,
    FlatMap,
    Fused,
    KeyBy,
    Map,
    MapToPair,
    MapValues,
    PythonBatch,
    PythonCall,
    RowOp,
    Sessions,
    Sliding,
    Stage,
    Tumbling,
    Union,
    Window,
)

__all__ = [
    "AggregateByKey",
    "ArrivalTime",
    "CallTemplate",
    "Changes",
    "Connector",
    "Count",
    "Distinct",
    "EventTime",
    "Files",
    "Filter",
    "FlatMap",
    "Format",
    "Fused",
    "Generate",
    "GroupByKey",
    "Iterate",
    "Join",
    "JoinKind",
    "Kafka",
    "KeyBy",
    "Map",
    "MapToPair",
    "MapValues",
    "Memory",
    "Op",
    "Parquet",
    "Policy",
    "Publish",
    "PythonBatch",
    "PythonCall",
    "ReadSink",
    "ReadTable",
    "Redis",
    "ReduceByKey",
    "Reply",
    "Role",
    "RowOp",
    "Sessions",
    "Sliding",
    "Socket",
    "Sort",
    "Source",
    "Stage",
    "State",
    "Time",
    "To",
    "Together",
    "Top",
    "Traits",
    "Tumbling",
    "Union",
    "Until",
    "Window",
    "traits_of",
]
from ghcm.spg.ops.traits import Role, State, Time, Together, Traits, traits_of

Op: TypeAlias = (
    Source
    | EventTime
    | ArrivalTime
    | RowOp
    | PythonBatch
    | Sessions
    | Union
    | ReduceByKey
    | AggregateByKey
    | GroupByKey
    | Count
    | Changes
    | Distinct
    | Sort
    | Top
    | Join
    | Iterate
    | ReadSink
    | ReadTable
    | To
    | Publish
    | Reply
    | Fused
)
