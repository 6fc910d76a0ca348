"""The Python front end: pipelines as chained calls whose lambdas are traced into the same syntax tree as the text's."""

from ghcm.language.fluent.functions import (
    agg,
    associative,
    between,
    coalesce,
    commutative,
    fn,
    if_else,
    is_,
    match_,
    try_,
)
from ghcm.language.fluent.interchange import (
    arrow_schema_of,
    dataclass_of,
    json_schema_of,
    pydantic_of,
    record_of,
    union_of,
)
from ghcm.language.fluent.pipelines import Pipeline
from ghcm.language.fluent.program import Program
from ghcm.language.fluent.records import Digits, OneOf, Record, at, int32
from ghcm.language.fluent.sources import (
    files,
    generate,
    kafka,
    memory,
    parquet,
    redis,
    session,
    sliding,
    socket,
    tumbling,
    union,
)
from ghcm.language.fluent.stores import Cache, Sink
from ghcm.language.fluent.units import Unit

__all__ = [
    "Cache",
    "Digits",
    "OneOf",
    "Pipeline",
    "Program",
    "Record",
    "Sink",
    "Unit",
    "agg",
    "arrow_schema_of",
    "associative",
    "at",
    "between",
    "coalesce",
    "commutative",
    "dataclass_of",
    "files",
    "fn",
    "generate",
    "if_else",
    "int32",
    "is_",
    "json_schema_of",
    "kafka",
    "match_",
    "memory",
    "parquet",
    "pydantic_of",
    "record_of",
    "redis",
    "session",
    "sliding",
    "socket",
    "try_",
    "tumbling",
    "union",
    "union_of",
]
