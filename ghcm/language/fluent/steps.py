"""The step of an iteration: a function from a pipeline to a pipeline, called once with a stand-in for its records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ghcm.language import ast
from ghcm.language.fluent.references import Later, resolve
from ghcm.language.fluent.tracing import trace
from ghcm.source import Span

if TYPE_CHECKING:
    pass


class StepFunction:
    """A function that is given as a step; in the tree it is a lambda whose body is a pipeline."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        """The lambda. Pipelines made inside are no statements of the unit; they stand where they are used."""
        from ghcm.language.fluent.pipelines import Pipeline
        from ghcm.language.fluent.recording import recording

        code = getattr(self._function, "__code__", None)
        if code is None:
            return trace(self._function, span)
        with recording(code) as body:
            written = trace(self._function, span, lambda name: Pipeline(name, span))
        inside = set(body.pipelines)

        def naming(target: object, _: Span | None) -> str | ast.Expr:
            if isinstance(target, Pipeline) and target in inside:
                return resolve(target.expr, naming)
            return Later.of(target)

        return resolve(written, naming)
