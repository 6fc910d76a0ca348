"""The meanings of the functions of strings, regular expressions, bytes as texts, and hashes."""

import base64
import hashlib
import re
import zlib
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


# --- patterns ---------------------------------------------------------------------------------------------------------


def _pattern(text: str) -> re.Pattern[str]:
    """The pattern as Python reads it: `$` outside of a class is the end of the text."""
    tokens = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", text, re.DOTALL)
    try:
        return re.compile("".join(r"\Z" if token == "$" else token for token in tokens), re.ASCII)
    except re.error as error:
        fail(Failure.BAD_PATTERN, f"{text!r} is no pattern: {error}")


def _extract(_: Types, text: str, pattern: str, group: int = 0) -> str | None:
    found = _pattern(pattern).search(text)
    return (found.group(group) or "") if found is not None else None


def _split_by(_: Types, text: str, pattern: str) -> list[str]:
    parts, end = list[str](), 0
    for found in _pattern(pattern).finditer(text):
        parts.append(text[end : found.start()])
        end = found.end()
    return [*parts, text[end:]]


# --- bytes ------------------------------------------------------------------------------------------------------------


def utf8(value: str | bytes) -> bytes:
    """Bytes as they are, a string as its UTF-8."""
    return value.encode("utf-8") if isinstance(value, str) else value


def _from_bytes(_: Types, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        fail(Failure.BAD_CAST, f"{data!r} is no UTF-8")


def _from_hex(_: Types, text: str) -> bytes:
    if not re.fullmatch(r"([0-9a-fA-F][0-9a-fA-F])*", text):
        fail(Failure.BAD_CAST, f"{text!r} is no hexadecimal text")
    return bytes(int(text[index : index + 2], 16) for index in range(0, len(text), 2))


def _to_base64(_: Types, value: str | bytes) -> str:
    return base64.b64encode(utf8(value)).decode("ascii")


def _from_base64(types: Types, text: str) -> bytes:
    """What is not as it is written here again is refused: other alphabets, lines, left-over bits."""
    try:
        data = base64.b64decode(text.encode("ascii"))
    except ValueError:
        fail(Failure.BAD_CAST, f"{text!r} is no base64")
    return data if _to_base64(types, data) == text else fail(Failure.BAD_CAST, f"{text!r} is no base64")


_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _url_encode(_: Types, text: str) -> str:
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode())


def _url_decode(types: Types, text: str) -> str:
    first, *others = text.replace("+", " ").split("%")
    data = first.encode()
    for part in others:
        if not re.match("[0-9a-fA-F]{2}", part):
            fail(Failure.BAD_CAST, f"{text!r} is no part of a URL")
        data += bytes([int(part[:2], 16)]) + part[2:].encode()
    return _from_bytes(types, data)


def _levenshtein(_: Types, one: str, two: str) -> int:
    """The least number of edits between all beginnings of the two, from the shortest."""
    edits: dict[tuple[int, int], int] = {}
    for a in range(len(one) + 1):
        for b in range(len(two) + 1):
            ways = [a + b] if not a or not b else [edits[a - 1, b - 1] + (one[a - 1] != two[b - 1])]
            ways += [edits[a - 1, b] + 1] if a else []
            ways += [edits[a, b - 1] + 1] if b else []
            edits[a, b] = min(ways)
    return edits[len(one), len(two)]


# --- hashes -----------------------------------------------------------------------------------------------------------


def _digest(algorithm: str) -> Meaning:
    def meaning(_: Types, value: str | bytes) -> str:
        return hashlib.new(algorithm, utf8(value), usedforsecurity=False).hexdigest()

    return meaning


MEANINGS: dict[str, Meaning] = {
    "length": lambda _, a: len(a),
    "lower": lambda _, a: a.lower(),
    "upper": lambda _, a: a.upper(),
    "initcap": lambda _, a: re.sub(r"[^ \t-\r]+", lambda word: word[0][0].upper() + word[0][1:], a.lower()),
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
    "matches": lambda _, a, pattern: _pattern(pattern).search(a) is not None,
    "full_match": lambda _, a, pattern: _pattern(pattern).fullmatch(a) is not None,
    "extract": _extract,
    "replace_pattern": lambda _, a, pattern, new: _pattern(pattern).sub(lambda _: new, a),
    "split_pattern": _split_by,
    "count_matches": lambda _, a, pattern: sum(1 for _ in _pattern(pattern).finditer(a)),
    "extract_all": lambda _, a, pattern: [found.group(0) for found in _pattern(pattern).finditer(a)],
    "to_bytes": lambda _, a: a.encode("utf-8"),
    "from_bytes": _from_bytes,
    "to_hex": lambda _, a: "".join(f"{byte:02x}" for byte in utf8(a)),
    "from_hex": _from_hex,
    "to_base64": _to_base64,
    "from_base64": _from_base64,
    "url_encode": _url_encode,
    "url_decode": _url_decode,
    "levenshtein": _levenshtein,
    **{name: _digest(name) for name in ("md5", "sha1", "sha256", "sha512")},
    "crc32": lambda _, a: zlib.crc32(utf8(a)),
}
