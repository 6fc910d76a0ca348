"""Names in generated Python: task ids, columns and temporaries as identifiers that meet nobody else's, and the imports
that a module needs: those whose names its text mentions.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

HELPERS = {
    "column": ("collections", "network", "numbers", "texts", "time", "time_texts"),
    "row": ("collections", "json", "network", "numbers", "texts", "time", "time_texts"),
}
"""The modules of functions by form."""
_MODULES = (
    "checked rows columns per_item order aggregates hyperloglog summaries python pl re math "
    "base64 hashlib zlib"
)
_FUNCTIONS = " ".join(f"{form}_{module}" for form, modules in HELPERS.items() for module in modules)
_LOCALS = "dead parameters functions frame result emit row record failure time watermark _"
_TYPES = "RecordFailure Failure TASKS Decimal Any Callable Sequence Row Dead Parameters Function"
_BUILTINS = "None True False len min max abs sum list dict tuple set str int float bool bytes zip map any all sorted"
RESERVED = frozenset(f"{_MODULES} {_FUNCTIONS} {_LOCALS} {_TYPES} {_BUILTINS} range print object type id call".split())
"""What the module itself uses; columns that are called so get an underscore."""

ARGUMENTS = frozenset(("state", "value", "left", "right"))
"""What functions over states use."""


def identifier(text: str) -> str:
    """The text as a Python identifier, readable, not unique."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    name = f"_{name}" if not name or name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


class Names:
    """The names taken in one scope."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self._last: dict[str, int] = {}

    def new(self, wish: str) -> str:
        """The wish as an identifier, with a number where it is taken."""
        base = identifier(wish)
        name, number = base, self._last.get(base, 1)
        while name in self.taken:
            number += 1
            name = f"{base.rstrip('_')}_{number}"
        self.taken.add(name)
        self._last[base] = number
        return name


_STANDARD = (
    ("import base64", ("base64",)),
    ("import hashlib", ("hashlib",)),
    ("import math", ("math",)),
    ("import re", ("re",)),
    ("import zlib", ("zlib",)),
    ("from collections.abc import Sequence", ("Sequence",)),
    ("from decimal import Decimal", ("Decimal",)),
    ("from typing import Any", ("Any",)),
)
_NATIVE = (
    "aggregates",
    "columns",
    "hyperloglog",
    "order",
    "per_item",
    "python",
    "summaries",
)
_CODE = (
    "Dead",
    "Function",
    "GroupCode",
    "IterateCode",
    "JoinCode",
    "JoinColumns",
    "OrderCode",
    "Parameters",
    "PolicyCode",
    "ReadCode",
    "Row",
    "RowCode",
    "SinkCode",
    "TaskCode",
    "TimeCode",
    "TotalsCode",
)
_ROWS = ("Failure", "RecordFailure")


def imports_of(body: str) -> list[str]:
    """The import lines of a module whose text below them is `body`; an empty line parts the groups.

    >>> imports_of("x = re.compile(pl)")[0]
    'import re'
    """
    names = set(re.findall(r"[A-Za-z_]\w*", body))
    groups = [
        [line for line, each in _STANDARD if names.intersection(each)],
        ["import polars as pl"] if "pl" in names else [],
        [*_from("ghcm.runtime.native", _NATIVE, names), *_checked(names)],
    ]
    groups[2] += _from("ghcm.runtime.native.code", _CODE, names | {"TaskCode"})
    groups[2] += _functions(names)
    groups[2] += _from("ghcm.runtime.native.rows", _ROWS, names)
    lines = [line for group in groups if group for line in [*group, ""]]
    return lines[:-1]


def _checked(names: set[str]) -> list[str]:
    return ["from ghcm.runtime.native import rows as checked"] if "checked" in names else []


def _functions(names: set[str]) -> list[str]:
    """Modules of functions, each under a name that says its form."""
    found = [(form, module, f"{form}_{module}") for form, modules in HELPERS.items() for module in modules]
    return [
        f"from ghcm.runtime.native.{form}_functions import {module} as {name}"
        for form, module, name in found
        if name in names
    ]


def _from(module: str, wanted: tuple[str, ...], names: set[str]) -> list[str]:
    found = [name for name in wanted if name in names]
    if not found:
        return []
    line = f"from {module} import {', '.join(found)}"
    if len(line) <= 120:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in found), ")"]
