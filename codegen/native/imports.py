"""The imports that a generated module needs: those whose names its text mentions."""

from __future__ import annotations

import re

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
    "json_forms",
    "json_values",
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
HELPERS = {
    "column": ("collections", "network", "numbers", "texts", "time", "time_texts"),
    "row": ("collections", "json", "network", "numbers", "texts", "time", "time_texts"),
}
"""The modules of functions by form."""
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
