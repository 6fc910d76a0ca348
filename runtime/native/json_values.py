"""The values that JSON data holds, in generated row code: a function that is made for a type once.

The rules are those of JSON sources, and so is the code.
"""

from __future__ import annotations

from typing import NamedTuple

from ghcm.runtime.formats.fields import Reader, from_json_field
from ghcm.spg.notation.types import parse_type
from ghcm.values import WrittenFloat, has_decimal


class JsonReader(NamedTuple):
    """The function that reads data (ValueError where it does not fit), and what makes the floats in that data."""

    read: Reader
    parse_float: type[WrittenFloat] | None


def reader(spelt: str) -> JsonReader:
    """What reads values of a type, which is spelt with the indices of its fields.

    >>> reader('{host: string from "id.host", n: int?}').read({"id": {"host": "a"}, "further": []})
    ('a', None)
    """
    type_ = parse_type(spelt)
    return JsonReader(from_json_field(type_), WrittenFloat if has_decimal(type_) else None)
