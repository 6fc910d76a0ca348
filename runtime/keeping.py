"""Work that goes on for ever beside everything else: an error in it is told and does not end it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

_log = logging.getLogger(__name__)

_PAUSE_SECONDS = 1.0


async def keep(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work until it returns by itself. Whatever it raises goes to the log, and a second later it begins anew."""
    while True:
        try:
            await work()
        except Exception:
            _log.exception("%s has failed, and begins anew", name)
            await asyncio.sleep(_PAUSE_SECONDS)
        else:
            return
