"""The columns that the headers of a log of Zeek name, and the types that they give them."""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.types import Bool, Duration, Float, Int, List, Nullable, String, Timestamp, Type

_TYPES: dict[str, Type] = {
    "time": Timestamp(),
    "interval": Duration(),
    "count": Int(),
    "int": Int(),
    "port": Int(),
    "double": Float(),
    "bool": Bool(),
}


def zeek_columns(lines: Sequence[str]) -> dict[str, Type | None]:
    r"""The columns of all headers in order; None where no type is said.

    >>> {name: str(type_) for name, type_ in zeek_columns(["#fields\tts\ttags", "#types\ttime\tset[addr]"]).items()}
    {'ts': 'timestamp', 'tags': 'list<string?>'}
    """
    separator = "\t"
    fields: list[str] = []
    columns: dict[str, Type | None] = {}
    for line in lines:
        if line.startswith("#separator "):
            separator = line.removeprefix("#separator ").encode().decode("unicode_escape", "replace")
        word, *parts = line.split(separator) if line.startswith("#") else [""]
        if word == "#fields":
            fields = parts
            columns |= {name: columns.get(name) for name in fields}
        elif word == "#types":
            columns |= {name: _type(said) for name, said in zip(fields, parts, strict=False)}
    return columns


def _type(said: str) -> Type:
    word, _, inner = said.removesuffix("]").partition("[")
    if word in ("set", "vector") and inner:
        return List(Nullable(_TYPES.get(inner, String())))
    return _TYPES.get(said, String())
