"""What the native engine has not yet: said once more here, for graphs that were not made by the checker."""

from __future__ import annotations

from ghcm.errors import GhcmError
from ghcm.spg.graph import Task


def refused(task: Task, what: str) -> GhcmError:
    """The error for a task that this engine cannot run."""
    return GhcmError(f'the native engine has no {what} yet, and "{task.id}" needs them', code="GHCM-501")
