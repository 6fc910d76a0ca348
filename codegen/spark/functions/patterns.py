"""Regular expressions as a job writes it."""

from __future__ import annotations

import re

from ghcm.codegen.spark.functions.emitting import Emit, Writer
from ghcm.codegen.spark.text import quote
from ghcm.expr import Call, Literal


def _pattern(name: str, *, whole: bool = False) -> Emit:
    def emit(writer: Writer, call: Call) -> str:
        pattern = call.arguments[1]
        assert isinstance(pattern, Literal), "the lowering takes constant patterns only"
        text = f"^(?:{pattern.value})$" if whole else str(pattern.value)
        others = map(writer.emit, call.arguments[2:])
        return writer.call(name, writer.emit(call.arguments[0]), quote(_java_pattern(text)), *others)

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
    "matches": _pattern("matches"),
    "full_match": _pattern("matches", whole=True),
    "extract": _pattern("extract"),
    "replace_pattern": _pattern("replace_pattern"),
    "split_pattern": _pattern("split_pattern"),
    "count_matches": _pattern("count_matches"),
    "extract_all": _pattern("extract_all"),
}
