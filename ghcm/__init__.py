"""GHCM: one typed program, compiled to streaming tasks, Spark jobs and a service that answers calls.

The names of the Python front end stand here; each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ghcm.version import __version__

if TYPE_CHECKING:
    from ghcm.errors import GhcmError, ProgramError
    from ghcm.language.fluent import (
        Cache,
        Digits,
        OneOf,
        Pipeline,
        Program,
        Record,
        Sink,
        Unit,
        agg,
        arrow_schema_of,
        associative,
        at,
        between,
        coalesce,
        commutative,
        dataclass_of,
        files,
        fn,
        generate,
        if_else,
        int32,
        is_,
        json_schema_of,
        kafka,
        match_,
        memory,
        parquet,
        pydantic_of,
        record_of,
        redis,
        session,
        sliding,
        socket,
        try_,
        tumbling,
        union,
        union_of,
    )

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


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "ghcm.errors" if name.endswith("Error") else "ghcm.language.fluent"
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for completion."""
    return __all__
