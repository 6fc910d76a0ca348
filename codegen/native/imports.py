"""The imports that a generated module needs: those whose names its text mentions."""

from __future__ import annotations

import re

from ghcm.functions import FAMILIES

_STANDARD = (
    ("import math", ("math",)),
    ("import re", ("re",)),
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
_FORMS = ("column", "row")
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
    groups[2] += _families(names)
    groups[2] += _from("ghcm.runtime.native.rows", _ROWS, names)
    lines = [line for group in groups if group for line in [*group, ""]]
    return lines[:-1]


def _checked(names: set[str]) -> list[str]:
    return ["from ghcm.runtime.native import rows as checked"] if "checked" in names else []


def _families(names: set[str]) -> list[str]:
    """Modules of functions, each under a name that says its form: both forms have one of each family."""
    found = [
        (f"ghcm.runtime.native.{form}_functions", family, f"{form}_{family}")
        for form in _FORMS
        for family in sorted(FAMILIES)
    ]
    return [f"from {package} import {family} as {name}" for package, family, name in found if name in names]


def _from(module: str, wanted: tuple[str, ...], names: set[str]) -> list[str]:
    found = [name for name in wanted if name in names]
    if not found:
        return []
    line = f"from {module} import {', '.join(found)}"
    if len(line) <= 120:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in found), ")"]
