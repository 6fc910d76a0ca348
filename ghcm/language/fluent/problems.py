"""What is wrong with a Python program: collected while it is loaded, raised at once where nobody collects."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from ghcm.errors import Diagnostic, Diagnostics, ProgramError
from ghcm.source import Span

_collector: ContextVar[Diagnostics | None] = ContextVar("ghcm_problems", default=None)


@contextmanager
def collecting() -> Generator[Diagnostics]:
    """Collect what is reported inside. Whoever is outermost raises it; an inner block adds to the same collection."""
    outer = _collector.get()
    if outer is not None:
        yield outer
        return
    problems = Diagnostics()
    token = _collector.set(problems)
    try:
        yield problems
    finally:
        _collector.reset(token)


def mistake(code: str, message: str, span: Span | None, *, detail: str = "", hint: str = "") -> ProgramError:
    """One mistake as an exception, for where nothing sensible can be returned."""
    return ProgramError([Diagnostic(code, message, span, detail, hint)])


def report(code: str, message: str, span: Span | None, *, detail: str = "", hint: str = "") -> None:
    """Note one mistake and go on; ProgramError where nobody collects."""
    keep(mistake(code, message, span, detail=detail, hint=hint))


def keep(error: ProgramError) -> None:
    """Note the mistakes of an exception and go on; raise it where nobody collects."""
    problems = _collector.get()
    if problems is None:
        raise error
    problems.found += [each for each in error.diagnostics if each not in problems.found]
