"""What a task does: the closed set of operations of the SPG.

Plain frozen data. Every choice over `Op` is a total `match`. Types of inputs and outputs stand on the tasks; the
rules that relate them are in the
operator table (`ghcm.operators`) and are checked by `ghcm.spg.verify`.
"""

from __future__ import annotations

from typing import TypeAlias

from ghcm.spg.connectors import Connector, Files, Format, Generate, Kafka, Memory, Parquet, Redis, Socket
from ghcm.spg.joining import JoinKind
from ghcm.spg.ops.ends import CallTemplate, Policy, Publish, Reply, To
from ghcm.spg.ops.fused import Fused, Stage
from ghcm.spg.ops.groups import AggregateByKey, Changes, Count, Distinct, GroupByKey, ReduceByKey, Sort, Top
from ghcm.spg.ops.iterations import Iterate, Until
from ghcm.spg.ops.joins import Join
from ghcm.spg.ops.rows import (
    EventTime,
    Filter,
    FlatMap,
    KeyBy,
    Map,
    MapToPair,
    MapValues,
    PythonBatch,
    PythonCall,
    Union,
)
from ghcm.spg.ops.sources import ReadSink, ReadTable, Source
from ghcm.spg.ops.windows import ArrivalTime, Sessions, Sliding, Tumbling, Window

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
    "Sessions",
    "Sliding",
    "Socket",
    "Sort",
    "Source",
    "Stage",
    "To",
    "Top",
    "Tumbling",
    "Union",
    "Until",
    "Window",
]

Op: TypeAlias = (
    Source
    | EventTime
    | ArrivalTime
    | Filter
    | Map
    | FlatMap
    | MapToPair
    | MapValues
    | KeyBy
    | PythonCall
    | PythonBatch
    | Window
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
