"""Values as a job writes them: plain Python."""

from __future__ import annotations

import math
from typing import cast


def quote(text: str) -> str:
    """A text as Python writes it, in double quotes where that needs no escape."""
    plain = repr(text)
    return plain if '"' in text or plain[0] == '"' else f'"{plain[1:-1]}"'


def python_text(value: object) -> str:
    """A canonical value as Python writes it.

    >>> python_text((1, [None, "a"], float("inf")))
    '(1, [None, "a"], float("inf"))'
    """
    match value:
        case float() if not math.isfinite(value):
            return f'float("{value!r}")'
        case str():
            return quote(value)
        case tuple():
            items = [python_text(each) for each in cast("tuple[object, ...]", value)]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        case list():
            return f"[{', '.join(python_text(each) for each in cast('list[object]', value))}]"
        case dict():
            pairs = cast("dict[object, object]", value).items()
            return f"{{{', '.join(f'{python_text(k)}: {python_text(v)}' for k, v in pairs)}}}"
        case _:
            return repr(value)
