"""The values that JSON data holds, in generated row code: a function that is made for a type once.

The rules are those of JSON sources, and so is the code.
"""

from __future__ import annotations

from ghcm.runtime.sources.fields import Reader, from_json_field
from ghcm.spg.notation.types import parse_type

__all__ = ["reader"]


def reader(spelt: str) -> Reader:
    """The function that reads values of a type, which is spelt with the places of its fields; it raises ValueError
    where the data does not fit.

    >>> reader('{host: string from "id.host", n: int?}')({"id": {"host": "a"}, "further": []})
    ('a', None)
    """
    return from_json_field(parse_type(spelt))
