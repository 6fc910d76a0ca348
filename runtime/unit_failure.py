"""Why a unit or a call has failed, in words for the user."""

from __future__ import annotations

import logging

from ghcm.errors import GhcmError
from ghcm.spg.graph import Unit

__all__ = ["unit_failure"]

_log = logging.getLogger(__name__)


def unit_failure(unit: Unit, part: str, error: Exception) -> GhcmError:
    """The error that ends a unit (or one call of it) because of what a part of it raised; a traceback goes to the
    log.
    """
    if isinstance(error, GhcmError):
        message = f'unit "{unit.name}" has failed in "{part}": {error.message}'
        failure = GhcmError(message, code=error.code, detail=error.detail, hint=error.hint)
    else:
        said = error.strerror if isinstance(error, OSError) and error.strerror else f"{type(error).__name__}: {error}"
        failure = GhcmError(
            f'unit "{unit.name}" has failed in "{part}": {said}',
            code="GHCM-701",
            detail="What was committed is safe; a restart goes on from the last snapshot.",
            hint="the log has the details",
        )
    _log.error("%s", failure, exc_info=None if isinstance(error, GhcmError) else error)
    return failure
