"""JSON texts in generated row code. A path is the names and list indices behind the text; a type is spelt as the SPG
spells it, with the indices of its fields.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from ghcm.formats import json_text
from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure
from ghcm.spg.notation.types import parse_type
from ghcm.values import compact, writer

T = TypeVar("T")

_parsed = lru_cache(maxsize=4)(json_text.parsed)
"""As `parsed`; several functions of one record ask for the same text."""


def writer_of(spelt: str) -> Callable[[object], str]:
    """The function that writes values of a type as compact JSON text, maps in the order of their keys."""
    write = writer(parse_type(spelt), in_order=True)
    return lambda value: compact(write(value))


def reader_of(spelt: str) -> Callable[[str], Any]:
    """The function that reads values of a type from JSON texts, by the rules of JSON sources and by their code.

    >>> reader_of('{host: string from "id.host", n: int?}')('{"id": {"host": "a"}, "further": []}')
    ('a', None)
    """
    return _failing(json_text.reader_of(parse_type(spelt)))


def _failing(compute: Callable[..., T]) -> Callable[..., T]:
    """The same, where errors are the record's failure."""

    def computed(*given: str | int) -> T:
        try:
            return compute(*given)
        except OverflowError as error:
            raise RecordFailure(Failure.OVERFLOW, str(error)) from None
        except ValueError as error:
            raise RecordFailure(Failure.BAD_CAST, str(error)) from None

    return computed


def _standing(read: Callable[[json_text.Data], T]) -> Callable[..., T | None]:
    def at_path(text: str, *path: str | int) -> T | None:
        return json_text.read_at(_parsed(text), path, read)

    return _failing(at_path)


json_get = _standing(json_text.text_of)
"""The text of what stands at the path in a text."""
json_string = _standing(json_text.string_of)
"""The string that stands there."""
json_int = _standing(json_text.int_of)
"""The whole number that stands there."""
json_float = _standing(json_text.float_of)
"""The number that stands there."""
json_bool = _standing(json_text.bool_of)
"""True or false, as it stands there."""
json_list = _standing(json_text.list_of)
"""The items of the array that stands there."""
