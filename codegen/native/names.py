"""Names in generated Python: task ids, columns and temporaries as identifiers that meet nobody else's, and the imports
that a module needs: those whose names its text mentions.
"""

import keyword
import re
from collections.abc import Iterable

_STANDARD = (
    "import base64",
    "import hashlib",
    "import math",
    "import re",
    "import zlib",
    "from collections.abc import Sequence",
    "from decimal import Decimal",
    "from typing import Any",
)
_NATIVE = "ghcm.runtime.native"
_CODE = (
    "Dead, Function, GroupCode, IterateCode, JoinCode, JoinColumns, OrderCode, Parameters, PolicyCode, ReadCode, Row, "
    "RowCode, ScanCode, SinkCode, TaskCode, TimeCode, TotalsCode"
)
_FORMS = {
    "column": ("collections", "network", "numbers", "texts", "time", "time_texts"),
    "row": ("collections", "json", "network", "numbers", "texts", "time"),
}
"""The modules of functions by form."""
_OURS = (
    (_NATIVE, "aggregates, columns, folds, hyperloglog, order, per_item, python, summaries"),
    (_NATIVE, "rows as checked"),
    (f"{_NATIVE}.clock", "PartitionClock"),
    (f"{_NATIVE}.code", _CODE),
    *((f"{_NATIVE}.{form}_functions", f"{each} as {form}_{each}") for form, all_ in _FORMS.items() for each in all_),
    (f"{_NATIVE}.rows", "Failure, RecordFailure"),
    ("ghcm.values", "decimals, timestamps"),
)
"""Modules and what may be imported from them, each line by itself."""

_IMPORTED = (each.split()[-1] for each in (*_STANDARD, *(name for _, names in _OURS for name in names.split(", "))))
_LOCALS = "pl dead parameters functions clock moment frame result emit row rows record failure time watermark _ TASKS"
_BUILTINS = "None True False len min max abs sum list dict tuple set str int float bool bytes zip map any all sorted"
RESERVED = frozenset((*_IMPORTED, *f"{_LOCALS} {_BUILTINS} range print object type id call".split()))
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


def imports_of(body: str) -> list[str]:
    """The import lines of a module whose text below them is `body`; an empty line parts the groups.

    >>> imports_of("x = re.compile(pl)")[0]
    'import re'
    """
    names = set(re.findall(r"[A-Za-z_]\w*", body)) | {"TaskCode"}
    ours: list[str] = []
    for module, listed in _OURS:
        wanted = ", ".join(each for each in listed.split(", ") if each.split()[-1] in names)
        line = f"from {module} import {wanted}"
        ours += [line if len(line) <= 120 else f"from {module} import ({wanted})"] if wanted else []
    groups = (
        [each for each in _STANDARD if each.split()[-1] in names],
        ["import polars as pl"] * ("pl" in names),
        ours,
    )
    return [line for group in groups if group for line in [*group, ""]][:-1]
