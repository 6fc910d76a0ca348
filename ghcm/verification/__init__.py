"""A program on generated or given input, through the reference and every engine, optimised and not: what differs."""

from ghcm.verification.campaign import Difference, Report, verify
from ghcm.verification.compare import compare_calls, compare_dead, compare_rows, differences

__all__ = ["Difference", "Report", "compare_calls", "compare_dead", "compare_rows", "differences", "verify"]
