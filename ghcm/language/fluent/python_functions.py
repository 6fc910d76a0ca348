"""A Python function that a program calls, by the name under which it is found again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ghcm.language.fluent.problems import mistake
from ghcm.source import Span


def python_function(function: object, span: Span) -> tuple[str, object]:
    """The name `module:function`, and its annotated result; ProgramError where nothing could find it."""
    if isinstance(function, str):
        return function, None
    if not callable(function) or not hasattr(function, "__code__"):
        raise mistake("GHCM-132", "this is no Python function", span, hint='name it: "module:function"')
    name = str(getattr(function, "__qualname__", ""))
    if not name.isidentifier():
        hint = "define it with def at the top of a module"
        raise mistake("GHCM-132", f'"{name}" cannot be found again when the program runs', span, hint=hint)
    hints: Mapping[str, object] = getattr(function, "__annotations__", {})
    return f"{getattr(function, '__module__', '')}:{name}", _evaluated(hints.get("return"), function)


def _evaluated(annotation: object, function: object) -> object:
    if not isinstance(annotation, str):
        return annotation
    namespace: dict[str, Any] = getattr(function, "__globals__", {})
    return eval(annotation, namespace)
