"""The table of the functions of expressions: name, types, nulls, failures, meaning; one module per family.

The lowering types calls with it, the documentation and the conformance tests are driven by it, and a test holds every engine's emitter total over
it. The meaning of a row is binding; `ghcm.spg.reference` executes it. Each layer has a module of the same name for each family: the meanings in
`ghcm.spg.reference.functions`, the emitters in `row_functions` and `column_functions` of `ghcm.codegen.native` and in `ghcm.codegen.spark.functions`,
what emitted code calls in the packages of these names in `ghcm.runtime.native` and in the templates of `spark/functions/`, the cases in
`tests/conformance/functions`.
"""

from __future__ import annotations

from ghcm.functions import (
    arithmetic,
    comparison,
    conversion,
    encodings,
    hashes,
    json,
    lists,
    logic,
    maps,
    network,
    patterns,
    strings,
    time,
)
from ghcm.functions.lists import SUMMARIES
from ghcm.functions.table import BadConstant, Failure, Function, Nulls, resolve
from ghcm.signatures import Resolution, comparable

__all__ = [
    "FAMILIES",
    "FUNCTIONS",
    "OPERATORS",
    "SUMMARIES",
    "BadConstant",
    "Failure",
    "Function",
    "Nulls",
    "Resolution",
    "comparable",
    "resolve",
]

FAMILIES: dict[str, tuple[Function, ...]] = {
    "arithmetic": arithmetic.TABLE,
    "comparison": comparison.TABLE,
    "logic": logic.TABLE,
    "conversion": conversion.TABLE,
    "strings": strings.TABLE,
    "patterns": patterns.TABLE,
    "encodings": encodings.TABLE,
    "hashes": hashes.TABLE,
    "lists": lists.TABLE,
    "maps": maps.TABLE,
    "json": json.TABLE,
    "time": time.TABLE,
    "network": network.TABLE,
}
"""The rows by family; every layer has a module of the family's name."""

FUNCTIONS: dict[str, Function] = {function.name: function for family in FAMILIES.values() for function in family}

OPERATORS: dict[str, str] = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod",
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "and": "and", "or": "or", "??": "coalesce",
}  # fmt: skip
"""From the operators of the text language to functions."""
