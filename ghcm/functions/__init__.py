"""The table of the functions of expressions: name, types, nulls, failures, meaning; one module per family.

The lowering types calls with it, the documentation and the conformance tests are driven by it, and a test holds every
engine total over it. What a row says is binding; `ghcm.spg.reference.functions` executes it, in modules of these names
but for `strings`, `patterns` and `encodings`, whose meanings stand together in `texts`. A row has the texts by which
engines write a call; where no text can say it, an emitter stands in `functions` of `ghcm.codegen.native.rows`,
`ghcm.codegen.native.columns` or `ghcm.codegen.spark`. What texts call stands in `row_functions` and `column_functions`
of `ghcm.runtime.native`.
"""

from ghcm.functions import arithmetic, collections, conversion, encodings, json, logic, network, patterns, strings, time
from ghcm.functions.collections import SUMMARIES
from ghcm.functions.table import BadConstant, Example, Failure, Function, Nulls, resolve, text_for
from ghcm.signatures import Resolution, comparable

__all__ = [
    "FAMILIES",
    "FUNCTIONS",
    "OPERATORS",
    "SUMMARIES",
    "BadConstant",
    "Example",
    "Failure",
    "Function",
    "Nulls",
    "Resolution",
    "comparable",
    "resolve",
    "text_for",
]

FAMILIES: dict[str, tuple[Function, ...]] = {
    "arithmetic": arithmetic.TABLE,
    "comparison": logic.COMPARISON,
    "logic": logic.LOGIC,
    "conversion": conversion.TABLE,
    "strings": strings.TABLE,
    "patterns": patterns.TABLE,
    "encodings": encodings.ENCODINGS,
    "hashes": encodings.HASHES,
    "lists": collections.LISTS,
    "maps": collections.MAPS,
    "json": json.TABLE,
    "time": time.TABLE,
    "network": network.TABLE,
}
"""The rows by family."""

FUNCTIONS: dict[str, Function] = {function.name: function for family in FAMILIES.values() for function in family}

OPERATORS: dict[str, str] = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod",
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "and": "and", "or": "or", "??": "coalesce",
}  # fmt: skip
"""From the operators of the text language to functions."""
