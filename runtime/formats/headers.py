"""The header of a file that names its columns, held against the record that is to be made of them."""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.errors import GhcmError, suggest
from ghcm.types import Struct, is_nullable


def places(file: str, header: Sequence[str], schema: Struct) -> list[int | None]:
    """Where each field of the record stands in the header, None where it may be missing and is. GhcmError otherwise.

    >>> from ghcm.types import Field, Int, Nullable
    >>> places("a.csv", ["b", "a"], Struct((Field("a", Int()), Field("c", Nullable(Int())))))
    [1, None]
    """
    found: list[int | None] = []
    missing: list[str] = []
    for field in schema.fields:
        path = field.path or field.name
        found.append(header.index(path) if path in header else None)
        if found[-1] is None and not is_nullable(field.type):
            missing.append(path)
    if missing:
        raise _missing(file, missing, header)
    return found


def _missing(file: str, missing: list[str], header: Sequence[str]) -> GhcmError:
    close = [(name, hint) for name in missing if (hint := suggest(name, header))]
    hints = [hint if len(missing) == 1 else f'for "{name}", {hint}' for name, hint in close]
    names = ", ".join(f'"{name}"' for name in missing)
    return GhcmError(
        f'cannot read "{file}": it has no column{"s" if len(missing) > 1 else ""} {names}',
        code="GHCM-736",
        detail=f"Its columns are {', '.join(header)}." if header else "It names no columns.",
        hint="; ".join(hints)
        or 'a field that stands elsewhere says so, from "column"; one that may be missing ends in ?.',
    )
