"""What every error code outside the lowering stands for, and what to do about it: one code for one kind of mistake.

The codes of the lowering stand in `ghcm.lowering.codes`, where golden tests hold a wrong program for each. Nothing
raises through these tables: tests compare them with the codes that the source raises; `ghcm explain --error` and the
documentation are made from them.
"""

from ghcm.codes.commands import COMMANDS
from ghcm.codes.kind import Kind
from ghcm.codes.running import RUNNING
from ghcm.codes.serving import SERVING
from ghcm.codes.spark import SPARK
from ghcm.codes.writing import WRITING

__all__ = ["COMMANDS", "KINDS", "RUNNING", "SERVING", "SPARK", "WRITING", "Kind"]

KINDS = (*WRITING, *SERVING, *SPARK, *COMMANDS, *RUNNING)
"""All of them, in the order of their codes."""
