"""Names in generated Python: task ids, columns and temporaries as identifiers that meet nobody else's."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from ghcm.codegen.native.imports import HELPERS

_MODULES = (
    "checked rows columns json_forms json_values per_item order aggregates hyperloglog summaries python pl re math "
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
