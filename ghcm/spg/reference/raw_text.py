"""Raw text by lines, and what becomes of the text that does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some programs put before UTF-8; it is no part of the text."""

LONGEST = 16_384
"""Characters of a raw text that a dead letter holds."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A record that does not fit: its raw text, and why."""

    text: str
    detail: str


def attempt(text: str, place: str, decode: Callable[[], tuple[object, ...]]) -> tuple[object, ...] | Bad:
    """The record, or the text and its place where there is none."""
    try:
        return decode()
    except (ValueError, RecursionError) as error:
        return Bad(text, f"{place}: {error}")


def numbered_lines(data: bytes, file: str) -> Iterator[tuple[int, str | Bad]]:
    """The lines without their ends (line feed, perhaps after carriage return), numbered from 1."""
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else (), 1):
        bare = line.removesuffix(b"\r")
        try:
            yield number, bare.decode()
        except UnicodeDecodeError:
            yield number, Bad(bare.decode(errors="replace"), f"{file}:{number}: the text is not UTF-8")
