"""Msg caches and sinks of a program in Python."""

from __future__ import annotations

from ghcm.language import ast
from ghcm.language.fluent.pipelines import Pipeline
from ghcm.language.fluent.positions import assigned_name, caller, here, mistake
from ghcm.language.fluent.values import later, name_of, next_order
from ghcm.source import Span


class _Store:
    """What rests outside of units. Its name is the variable it is assigned to, or `name=`."""

    def __init__(self, connector: Pipeline, name: str | None) -> None:
        frame = caller()
        found = assigned_name(frame) if name is None else None
        self.span = here()
        self.order = next_order()
        self.connector = connector
        self.name_span = self.span if found is None else found[1]
        self._name = name if found is None else found[0]
        self._namespace = frame.f_globals

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        """What stands for it in a tree."""
        return later(self, span)

    @property
    def name(self) -> str:
        """Its name. Raises `ProgramError` where it has none."""
        name = self._name or next((key for key, value in self._namespace.items() if value is self), None)
        if name is None:
            kind = type(self).__name__.lower()
            hint = f'assign it to a variable, or give it: .{kind}(..., name="...")'
            raise mistake("GHCM-134", f"a {kind} without a name", self.span, hint=hint)
        return name


class Cache(_Store):
    """The topic that carries calls of a unit."""


class Sink(_Store):
    """Where results rest. Units write to it with `.to(sink)` and read it with `sink.read()`."""

    def read(self) -> Pipeline:
        """Its latest complete version."""
        span = here()
        function = ast.Attribute(later(self, span), "read", span, span)
        return Pipeline(ast.Apply(function, (), None, span), span)


def declare_store(store: Cache | Sink) -> ast.CacheDecl | ast.SinkDecl:
    """The declaration of a msg cache or sink. Raises `ProgramError`."""
    name = name_of(store.name, store.name_span)
    declared = ast.CacheDecl if isinstance(store, Cache) else ast.SinkDecl
    return declared(name, store.connector.expr, store.span)
