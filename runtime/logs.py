"""How processes write their logs: lines for people or, where the settings say so, JSON objects for machines; and which
call a line is about.

Redis and Java write their own logs, in their own forms.
"""

import json
import logging
import re
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from ghcm.runtime.pubsub.envelope import Instruction, State
from ghcm.runtime.settings import Log

_LINES = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_call: ContextVar[Instruction | None] = ContextVar("call", default=None)


def start_logging(settings: Log) -> None:
    """Write to standard error from now on, in the form and from the level that the settings say."""
    logging.basicConfig(level=logging.INFO, format=_LINES, force=True)
    logging.getLogger("ghcm").setLevel(settings.level.upper())
    if settings.format == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonLines())


def trace_of(parent: str) -> str:
    """The id of the trace in the header `traceparent` of a request (W3C Trace Context); empty where there is none, or
    none that is valid.

    >>> trace_of("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    '4bf92f3577b34da6a3ce929d0e0e4736'
    >>> trace_of("00-00000000000000000000000000000000-00f067aa0ba902b7-01")
    ''
    """
    found = re.fullmatch(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?", parent)
    return found[1] if found is not None and int(found[1], 16) and int(found[2], 16) else ""


@contextmanager
def about(instruction: Instruction) -> Generator[None]:
    """What this thread or task logs within the block is about this call."""
    token = _call.set(instruction)
    try:
        yield
    finally:
        _call.reset(token)


def log_end(log: logging.Logger, instruction: Instruction, state: State) -> None:
    """Log how a call went; one that went well for those only who want to know everything."""
    level = logging.DEBUG if state is State.DONE else logging.INFO
    with about(instruction):
        log.log(level, 'call "%s" of "%s.%s": %s', instruction.id, instruction.program, instruction.unit, state.value)


class JsonLines(logging.Formatter):
    """One object a line: time, level, logger, process and message; "call", "program", "unit" and "trace" of the call
    that it is about, "error" with its traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if (call := _call.get()) is not None:
            line |= {"call": call.id, "program": call.program, "unit": call.unit, "trace": call.trace or call.id}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
