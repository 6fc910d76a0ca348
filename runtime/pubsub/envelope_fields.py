"""Fields of JSON envelopes, read with care: what comes over a wire is refused with a reason, never believed.

`kind` is what the document should be ("instruction"), for the message. Every refusal is a GhcmError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeVar, cast

from ghcm.errors import GhcmError

T = TypeVar("T")


def document_of(data: bytes | str, kind: str, *, version: int, limit: int) -> Mapping[str, object]:
    """The JSON object in an encoded envelope of at most `limit` bytes, written in format `version`."""
    if len(data) > limit:
        raise invalid(kind, "too large", f"{len(data):,} bytes, the limit is {limit:,}")
    try:
        document: object = json.loads(data)
    except ValueError as error:
        raise invalid(kind, "no JSON", str(error)) from error
    if not isinstance(document, dict):
        raise invalid(kind, "no JSON object", f"found {type(document).__name__}")
    found = cast("dict[str, object]", document)
    written = found.get("v")
    if written != version:
        raise invalid(kind, f"format {written!r} is not known", f"This GHCM reads format {version}.")
    return found


def text_of(document: Mapping[str, object], name: str, kind: str) -> str:
    """A text that must be there and not be empty."""
    value = document.get(name)
    if value is None:
        raise invalid(kind, f'the field "{name}" is missing', f"Found the fields {', '.join(document) or 'none'}.")
    text = expect(value, str, name, kind)
    if not text:
        raise invalid(kind, f'the field "{name}" is empty', "")
    return text


def mapping(document: Mapping[str, object], name: str, kind: str) -> Mapping[str, object]:
    """An object; an empty one where it is missing or null."""
    value = document.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid(kind, f'the field "{name}" is no object', f"found {value!r}")
    return cast("dict[str, object]", value)


def optional(document: Mapping[str, object], name: str, expected: type[T], kind: str) -> T | None:
    """A value of that type, or None where it is missing or null."""
    value = document.get(name)
    return None if value is None else expect(value, expected, name, kind)


def number(value: object, name: str, kind: str) -> float:
    """A number, whole or not."""
    return float(expect(value, int, name, kind)) if isinstance(value, int) else expect(value, float, name, kind)


def expect(value: object, expected: type[T], name: str, kind: str) -> T:
    """The value, if it is of that type; true and false are no numbers."""
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise invalid(kind, f'the field "{name}" is no {expected.__name__}', f"found {value!r}"[:200])
    return value


def invalid(kind: str, what: str, detail: str) -> GhcmError:
    """The refusal, to be raised."""
    return GhcmError(f"not a valid {kind}: {what}", code="GHCM-710", detail=detail)
