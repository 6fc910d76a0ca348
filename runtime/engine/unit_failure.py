"""Why a unit or a call has failed, in words for the user. The Spark driver says it in the same ones."""

import errno
import logging
from collections.abc import Callable

from ghcm.durable import FULL
from ghcm.errors import GhcmError
from ghcm.source import Origin, SourceLine
from ghcm.spg.graph import Unit

_log = logging.getLogger(__name__)

_HINTS = {
    errno.EACCES: "let the user of this process read and write there, or name another place.",
    errno.EPERM: "let the user of this process read and write there, or name another place.",
    errno.EROFS: "that file system is read-only: name another place.",
    errno.ENOSPC: "free some room on that disk; what was committed is safe, and --resume goes on behind it.",
    errno.EDQUOT: "free some room: the quota of this user is used up; then --resume goes on behind what was committed.",
    errno.EMFILE: "raise the limit of open files: ulimit -n 4096.",
}
"""What to do about what the system says."""


def unit_failure(
    unit: Unit, part: str, error: Exception, line: Callable[[Origin], str] = lambda origin: ""
) -> GhcmError:
    """The error that ends a unit (or one call of it) because of what a part of it raised, usually a task. `line` gives
    the text of a line of the program, empty where it is not known. A traceback goes to the log.
    """
    task = next((task for task in unit.tasks if task.id == part), None)
    origin = unit.origin if task is None else task.origin
    position = SourceLine(origin, line(origin))
    code, detail, hint, place = "GHCM-790", "", "", position
    if isinstance(error, GhcmError):
        what, code, detail, hint = error.message, error.code, error.detail, error.hint
        place = error.place or position
    elif isinstance(error, OSError) and error.strerror:
        what = f'"{error.filename}": {error.strerror}' if error.filename else error.strerror
        hint = _HINTS.get(error.errno or 0, "")
        code = "GHCM-731" if error.errno in FULL else code
    else:
        what, code, hint = f"{type(error).__name__}: {error}", "GHCM-701", "the log has the details."
        detail = "What was committed is safe; a restart goes on from the last snapshot."
    failed = "cannot start" if part == "@start" else f'has failed in "{part}"'
    message = f'unit "{unit.name}" {failed}: {what}'
    failure = GhcmError(message, code=code, detail=detail, hint=hint, place=place)
    _log.error("%s", failure, exc_info=None if isinstance(error, GhcmError) else error)
    return failure
