"""The table of the operators of the language: what each takes, gives, keeps, how it can fail and which engines run it.

The checker, the reference documentation and the conformance tests are driven by it; every example is executed.
"""

from ghcm.operators.ends import ENDS, SOURCES
from ghcm.operators.groups import GROUPS
from ghcm.operators.operator import Argument, Operator, Pipeline, Role
from ghcm.operators.rows import ROWS
from ghcm.operators.sequences import SEQUENCES
from ghcm.operators.tables import TABLES

__all__ = ["OPERATORS", "Argument", "Operator", "Pipeline", "Role"]

OPERATORS: dict[str, Operator] = {each.name: each for each in (*SOURCES, *ROWS, *GROUPS, *SEQUENCES, *TABLES, *ENDS)}
