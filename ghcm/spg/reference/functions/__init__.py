"""The meaning of each function of `ghcm.functions`, on arguments that are not null (but where it handles nulls itself).

Modules are named as those of the table; `texts` has the meanings of `strings`, `patterns` and `encodings`. `and`, `or`
and `coalesce` do not evaluate all of their arguments and stand in `ghcm.spg.reference.expressions`.
"""

from collections.abc import Callable
from typing import cast

from ghcm.spg.reference.functions import arithmetic, collections, conversion, json, logic, network, texts, time
from ghcm.spg.reference.functions.meaning import Failed, Meaning, Types, checked

__all__ = ["MEANINGS", "Failed", "Types", "call", "checked"]

_MODULES = (arithmetic, logic, conversion, texts, collections, json, time, network)

MEANINGS: dict[str, Meaning] = {name: each for module in _MODULES for name, each in module.MEANINGS.items()}
"""By name: total over the table but for the three that are lazy."""


def call(name: str, types: Types, arguments: list[object]) -> object:
    """The function of these arguments; `Failed` where the record fails.

    What arithmetic means for timestamps and durations follows from their canonical values.
    """
    return cast("Callable[..., object]", MEANINGS[name])(types, *arguments)
