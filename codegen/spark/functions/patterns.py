"""Regular expressions as SQL."""

from __future__ import annotations

import re
from collections.abc import Callable

from ghcm.codegen.spark.functions.emitting import Emit, Writer, constant_text
from ghcm.codegen.spark.library.sql import matching, text, when
from ghcm.codegen.spark.sql import Checked, pure
from ghcm.expr import Call


def matches(a: Checked, pattern: str) -> Checked:
    """Whether the pattern is found anywhere in the text."""
    return pure(matching(a.value, pattern), a)


def extract_all(a: Checked, pattern: str) -> Checked:
    """All matches of the pattern from the left that do not overlap."""
    return pure(f"regexp_extract_all({a}, {text(pattern)}, 0)", a)


def extract(a: Checked, pattern: str, *group: Checked) -> Checked:
    """What a group of the first match took; null where there is no match."""
    number = f"int({group[0].value})" if group else "0"
    return pure(when(matching(a.value, pattern), f"regexp_extract({a}, {text(pattern)}, {number})"), a)


def replace_pattern(a: Checked, pattern: str, new: Checked) -> Checked:
    """Every match replaced; nothing in the replacement has a meaning of its own."""
    backslash, dollar = text(chr(92)), text("$")
    plain = f"replace({new}, {backslash}, {text(chr(92) * 2)})"
    plain = f"replace({plain}, {dollar}, {text(chr(92) + '$')})"
    return pure(f"regexp_replace({a}, {text(pattern)}, {plain})", a, new)


def split_pattern(a: Checked, pattern: str) -> Checked:
    """The parts between matches."""
    return pure(f"split({a}, {text(pattern)}, -1)", a)


def count_matches(a: Checked, pattern: str) -> Checked:
    """How many matches there are."""
    return pure(f"bigint(regexp_count({a}, {text(pattern)}))", a)


def _pattern(write: Callable[..., Checked], *, whole: bool = False) -> Emit:
    def emit(writer: Writer, call: Call) -> Checked:
        pattern = constant_text(call, 1)
        java = _java_pattern(f"^(?:{pattern})$" if whole else pattern)
        return write(writer.emit(call.arguments[0]), java, *map(writer.emit, call.arguments[2:]))

    return emit


def _java_pattern(pattern: str) -> str:
    r"""The pattern for Java: what the lowering leaves reads alike but for `$`, which Java writes `\z`.

    >>> _java_pattern("a[$]\\$b$")
    'a[$]\\$b\\z'
    """
    return re.sub(
        r"\\.|\[\^?\]?(?:\\.|[^\]])*\]|\$", lambda part: r"\z" if part[0] == "$" else part[0], pattern, flags=re.S
    )


EMITTERS: dict[str, Emit] = {
    "matches": _pattern(matches),
    "full_match": _pattern(matches, whole=True),
    "extract": _pattern(extract),
    "replace_pattern": _pattern(replace_pattern),
    "split_pattern": _pattern(split_pattern),
    "count_matches": _pattern(count_matches),
    "extract_all": _pattern(extract_all),
}
