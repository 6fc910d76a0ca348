"""The optimiser: rewrites graphs into cheaper graphs of the same meaning."""

if __name__ != "ghcm.optimizer":
    raise ImportError(
        f'cannot import "optimizer" as "{__name__}": write "ghcm.optimizer", with the root of the checkout '
        "or the installed package on the path. Under two names, every class would exist twice."
    )

from ghcm.optimizer.passes import Fact, Pass, Remark, Remarks, Verdict
from ghcm.optimizer.pipeline import PASSES, Optimised, Step, Summary, broken_claims, check_order, chosen, optimise

__all__ = [
    "PASSES",
    "Fact",
    "Optimised",
    "Pass",
    "Remark",
    "Remarks",
    "Step",
    "Summary",
    "Verdict",
    "broken_claims",
    "check_order",
    "chosen",
    "optimise",
]
