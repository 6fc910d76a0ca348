"""GHCM: one typed program, compiled to streaming tasks, Spark jobs and a service that answers calls.

The names of the Python front end stand here; each is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ghcm.version import __version__

if TYPE_CHECKING:
    from ghcm.errors import GhcmError, ProgramError
    from ghcm.language.fluent.connectors import (
        Cache,
        Sink,
        cumulating,
        discard,
        files,
        generate,
        http,
        kafka,
        memory,
        parquet,
        redis,
        session,
        sliding,
        socket,
        sql,
        table,
        tumbling,
        union,
    )
    from ghcm.language.fluent.functions import (
        agg,
        arrival,
        associative,
        between,
        coalesce,
        commutative,
        fields,
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
    from ghcm.language.fluent.units import Unit

__all__ = [
    "Cache",
    "Digits",
    "GhcmError",
    "OneOf",
    "Pipeline",
    "Program",
    "ProgramError",
    "Record",
    "Sink",
    "Unit",
    "__version__",
    "agg",
    "arrival",
    "arrow_schema_of",
    "associative",
    "at",
    "between",
    "coalesce",
    "commutative",
    "cumulating",
    "dataclass_of",
    "discard",
    "fields",
    "files",
    "fn",
    "generate",
    "http",
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
    "sql",
    "table",
    "try_",
    "tumbling",
    "union",
    "union_of",
]

_FRONT_END = ("connectors", "functions", "interchange", "pipelines", "program", "records", "units")


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name in __all__:
        for home in ("ghcm.errors", *(f"ghcm.language.fluent.{each}" for each in _FRONT_END)):
            module = import_module(home)
            if hasattr(module, name):
                globals()[name] = value = getattr(module, name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, for completion."""
    return __all__
