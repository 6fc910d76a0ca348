"""What each operation asks of its inputs and gives: the typing rules of tasks, re-derived for the verifier."""

from ghcm.spg.rules.checks import Around, expr_problems, is_value, lambda_problems
from ghcm.spg.rules.groups import aggregate_problems
from ghcm.spg.rules.tasks import task_problems

__all__ = ["Around", "aggregate_problems", "expr_problems", "is_value", "lambda_problems", "task_problems"]
