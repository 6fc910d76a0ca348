"""The type rules of the operators, one function for each, total over the table `ghcm.operators`."""

from ghcm.lowering import drafts
from ghcm.lowering.operators import (
    ends,
    groups,
    inputs,
    iterations,
    joins,
    lookups,
    rows,
    sequences,
    sources,
    tables,
    times,
    topics,
)

__all__ = ["READS", "RULES", "SOURCES", "UNIONS"]

_MODULES = (ends, groups, inputs, iterations, joins, lookups, rows, sequences, sources, tables, times, topics)
"""Each has put its rules into the tables."""

SOURCES, READS, UNIONS, RULES = (
    dict(sorted(drafts.SOURCES.items())),
    dict(sorted(drafts.READS.items())),
    dict(sorted(drafts.UNIONS.items())),
    dict(sorted(drafts.RULES.items())),
)
