"""Strings, regular expressions, bytes and their texts in generated row code, which compiles patterns itself."""

import re
from base64 import b64decode
from collections.abc import Iterable
from typing import NoReturn
from urllib.parse import quote, unquote_to_bytes

from ghcm.functions import Failure
from ghcm.functions.strings import LONGEST_TEXT
from ghcm.runtime.native.rows import RecordFailure


def join(texts: Iterable[str], between: str) -> str:
    """The texts with another between them."""
    return between.join(texts)


def replace(text: str, old: str, new: str) -> str:
    """The text with every `old` replaced; an empty one changes nothing."""
    return text.replace(old, new) if old else text


def substring(text: str, start: int, count: int) -> str:
    """Up to `count` code points from `start`."""
    if start < 0 or count < 0:
        raise RecordFailure(Failure.OUT_OF_RANGE, f"substring from {start}, {count} long")
    return text[start : start + count]


def split(text: str, separator: str) -> list[str]:
    """The parts between separators."""
    if not separator:
        raise RecordFailure(Failure.BAD_PATTERN, "split by an empty separator")
    return text.split(separator)


def split_part(text: str, separator: str, number: int) -> str | None:
    """Part `number` between separators, or None."""
    parts = split(text, separator)
    if number < 0:
        raise RecordFailure(Failure.OUT_OF_RANGE, f"part {number} of a text")
    return parts[number] if number < len(parts) else None


def lines(text: str) -> list[str]:
    """The lines without their ends."""
    body = text.removesuffix("\n")
    return [each.removesuffix("\r") for each in body.split("\n")] if text else []


_WORD = re.compile(r"[^ \t-\r]+")


def words(text: str) -> list[str]:
    """The parts between ASCII white space."""
    return _WORD.findall(text)


def initcap(text: str) -> str:
    """In lower case, but for the first code point of each word."""
    return _WORD.sub(lambda word: word[0][0].upper() + word[0][1:], text.lower())


def repeat(text: str, count: int) -> str:
    """The text `count` times."""
    if count < 0:
        raise RecordFailure(Failure.OUT_OF_RANGE, f"a text {count} times")
    if len(text) * count > LONGEST_TEXT:
        overflow_of(len(text) * count)
    return text * count if text else text


def padding(text: str, width: int, fill: str) -> str:
    """What has to be added so that the text is so wide."""
    missing = width - len(text)
    if missing <= 0 or not fill:
        return ""
    if width > LONGEST_TEXT:
        overflow_of(width)
    return (fill * (missing // len(fill) + 1))[:missing]


def pad_start(text: str, width: int, fill: str) -> str:
    """The text with padding before it."""
    return padding(text, width, fill) + text


def pad_end(text: str, width: int, fill: str) -> str:
    """The text with padding behind it."""
    return text + padding(text, width, fill)


def left(text: str, count: int) -> str:
    """The first code points."""
    return text[: _checked(count)]


def right(text: str, count: int) -> str:
    """The last code points."""
    return text[-count:] if _checked(count) else ""


def _checked(count: int) -> int:
    if count < 0:
        raise RecordFailure(Failure.OUT_OF_RANGE, f"{count} code points of a text")
    return count


def overflow_of(length: int) -> NoReturn:
    """The record fails because a text would be too long."""
    raise RecordFailure(Failure.OVERFLOW, f"a text of {length:,} code points; {LONGEST_TEXT:,} are the most")


def group(found: re.Match[str] | None, number: int) -> str | None:
    """What a group of a match took, empty where it took no part; None where there is no match."""
    return None if found is None else found.group(number) or ""


def replace_pattern(pattern: re.Pattern[str], text: str, replacement: str) -> str:
    """The text with every match replaced; nothing in the replacement has a meaning of its own."""
    return pattern.sub(lambda _: replacement, text)


_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?")


def _refuse(value: object, what: str) -> RecordFailure:
    return RecordFailure(Failure.BAD_CAST, f"{value!r:.100} is no {what}")


def from_bytes(data: bytes) -> str:
    """The string whose UTF-8 it is."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refuse(data, "UTF-8") from error


def from_hex(text: str) -> bytes:
    """The bytes that pairs of hexadecimal digits say."""
    if not _HEX.fullmatch(text):
        raise _refuse(text, "hexadecimal text")
    return bytes.fromhex(text)


def from_base64(text: str) -> bytes:
    """The bytes of base64 that has no other spelling."""
    if not _BASE64.fullmatch(text):
        raise _refuse(text, "base64")
    return b64decode(text)


def url_encode(text: str) -> str:
    """The text as a part of a URL."""
    return quote(text, safe="")


_STRAY = re.compile("%(?![0-9A-Fa-f]{2})")


def url_decode(text: str) -> str:
    """The text that a part of a URL stands for."""
    if _STRAY.search(text):
        raise _refuse(text, "part of a URL")
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        raise _refuse(text, "part of a URL") from None


def levenshtein(left: str, right: str) -> int:
    """How many characters have to be put in, left out or changed; rows of the table of all beginnings."""
    if len(left) < len(right):
        left, right = right, left
    above = list(range(len(right) + 1))
    for row, one in enumerate(left, 1):
        here = [row]
        for column, other in enumerate(right):
            here.append(min(above[column] + (one != other), above[column + 1] + 1, here[column] + 1))
        above = here
    return above[-1]
