"""The meanings of the functions of strings."""

from __future__ import annotations

import re
from typing import Any

from ghcm.functions import Failure
from ghcm.functions.strings import LONGEST_TEXT
from ghcm.spg.reference.functions.meaning import Meaning, Types, fail
from ghcm.spg.reference.order import order_key
from ghcm.types import List

_ASCII_SPACE = " \t\n\r\v\f"


def _substring(_: Types, text: str, start: int, count: int) -> str:
    if start < 0 or count < 0:
        fail(Failure.OUT_OF_RANGE, f"no substring from {start} of {count}")
    return text[start : start + count]


def _split(_: Types, text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else fail(Failure.BAD_PATTERN, "the separator is empty")


def _split_part(types: Types, text: str, separator: str, number: int) -> str | None:
    parts = _split(types, text, separator)
    if number < 0:
        fail(Failure.OUT_OF_RANGE, f"no part {number}")
    return parts[number] if number < len(parts) else None


def _lines(_: Types, text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _concat(_: Types, *texts: str) -> str:
    return "".join(texts)


def _repeat(_: Types, text: str, count: int) -> str:
    if count < 0:
        fail(Failure.OUT_OF_RANGE, f"{count} times")
    if len(text) * count > LONGEST_TEXT:
        fail(Failure.OVERFLOW, f"{len(text) * count} code points")
    return text * count if text else ""


def _padding(text: str, width: int, fill: str) -> str:
    missing = width - len(text)
    if missing <= 0 or not fill:
        return ""
    if width > LONGEST_TEXT:
        fail(Failure.OVERFLOW, f"{width} code points")
    return "".join(fill[index % len(fill)] for index in range(missing))


def _counted(count: int) -> int:
    return count if count >= 0 else fail(Failure.OUT_OF_RANGE, f"{count} code points")


def _contains(types: Types, whole: Any, part: Any) -> bool:
    bare = types.first
    if isinstance(bare, List):
        return any(order_key(each, bare.item) == order_key(part, bare.item) for each in whole)
    return part in whole


MEANINGS: dict[str, Meaning] = {
    "length": lambda _, a: len(a),
    "lower": lambda _, a: a.lower(),
    "upper": lambda _, a: a.upper(),
    "trim": lambda _, a, characters=_ASCII_SPACE: a.strip(characters),
    "trim_start": lambda _, a, characters=_ASCII_SPACE: a.lstrip(characters),
    "trim_end": lambda _, a, characters=_ASCII_SPACE: a.rstrip(characters),
    "is_empty": lambda _, a: len(a) == 0,
    "starts_with": lambda _, a, b: a.startswith(b),
    "ends_with": lambda _, a, b: a.endswith(b),
    "contains": _contains,
    "replace": lambda _, a, old, new: a.replace(old, new) if old else a,
    "substring": _substring,
    "split": _split,
    "split_part": _split_part,
    "lines": _lines,
    "words": lambda _, a: [part for part in re.split(r"[ \t\n\r\v\f]", a) if part],
    "concat": _concat,
    "join": lambda _, items, separator: separator.join(items),
    "reverse": lambda _, a: a[::-1],
    "repeat": _repeat,
    "pad_start": lambda _, a, width, fill: _padding(a, width, fill) + a,
    "pad_end": lambda _, a, width, fill: a + _padding(a, width, fill),
    "index_of": lambda _, a, part: a.find(part),
    "last_index_of": lambda _, a, part: a.rfind(part),
    "count_of": lambda _, a, part: a.count(part),
    "slice": lambda _, a, start, end=None: a[start:end],
    "left": lambda _, a, count: a[: _counted(count)],
    "right": lambda _, a, count: a[max(len(a) - _counted(count), 0) :],
    "remove_prefix": lambda _, a, part: a.removeprefix(part),
    "remove_suffix": lambda _, a, part: a.removesuffix(part),
}
