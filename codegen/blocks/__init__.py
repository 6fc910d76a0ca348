"""Chains of operations on single records as small blocks of straight code, written once for every engine: `block`."""

from ghcm.codegen.blocks.block import (
    Bind,
    Block,
    Columns,
    Explode,
    Keep,
    Line,
    Operator,
    Outside,
    Stamp,
    Step,
    columns_of,
    expression,
    is_guard,
    record_of,
    steps_of,
)
from ghcm.codegen.blocks.building import block_of
from ghcm.folding import is_atom

__all__ = [
    "Bind",
    "Block",
    "Columns",
    "Explode",
    "Keep",
    "Line",
    "Operator",
    "Outside",
    "Stamp",
    "Step",
    "block_of",
    "columns_of",
    "expression",
    "is_atom",
    "is_guard",
    "record_of",
    "steps_of",
]
