"""Names in generated Python: task ids, columns and temporaries as identifiers that meet nobody else's."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

__all__ = ["RESERVED", "Names", "identifier"]

RESERVED = frozenset(
    [
        "annotations",
        "checked",
        "rows",
        "columns",
        "order",
        "python",
        "pl",
        "re",
        "math",
        "dead",
        "parameters",
        "functions",
        "frame",
        "result",
        "emit",
        "row",
        "record",
        "failure",
        "RecordFailure",
        "Failure",
        "TASKS",
        "Decimal",
        "Callable",
        "Sequence",
        "Row",
        "Dead",
        "Parameters",
        "state",
        "value",
        "left",
        "right",
        "None",
        "True",
        "False",
        "len",
        "min",
        "max",
        "abs",
        "sum",
        "list",
        "dict",
        "tuple",
        "set",
        "str",
        "int",
        "float",
        "bool",
        "bytes",
        "time",
        "watermark",
        "_",
        "zip",
        "map",
        "any",
        "all",
        "range",
        "sorted",
        "print",
        "object",
        "type",
        "id",
        "call",
    ]
)
"""What the module itself uses; columns that are called so get an underscore."""


def identifier(text: str) -> str:
    """The text as a Python identifier, readable, not unique."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    name = f"_{name}" if not name or name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


class Names:
    """The names taken in one scope."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def new(self, wish: str) -> str:
        """The wish as an identifier, with a number where it is taken."""
        base = identifier(wish)
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base.rstrip('_')}_{number}"
        self.taken.add(name)
        return name
