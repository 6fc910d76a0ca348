"""Functions of single tasks: those that give one thing for each row, and those of the parameters alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ghcm.codegen.native.names import ARGUMENTS, RESERVED, Names
from ghcm.codegen.native.row_expressions import RowScope
from ghcm.codegen.native.row_lines import Lines, catch, loop_head, parameter_lines
from ghcm.codegen.native.row_text import Binding, Code, Module
from ghcm.expr import Expr
from ghcm.spg.graph import Task, Unit
from ghcm.types import Collection, Struct, Type

Made: TypeAlias = tuple[bool, list[str], list[str]]
Make: TypeAlias = Callable[[RowScope, dict[str, Code], str], Made]
"""From scope, columns and record to: can it fail, the lines that may, and the lines that emit."""


def input_of(task: Task, unit: Unit, ordinal: int = 0) -> Collection:
    """What the task takes from the input of this number."""
    return unit.task(task.inputs[ordinal].producer).collection


def scope_of(module: Module) -> RowScope:
    """A scope for a function of its own, in which no name hides one of the module."""
    return RowScope(module, Names(RESERVED | ARGUMENTS | module.names.taken))


def per_row(task_id: str, collection: Collection, module: Module, name: str, given: str, make: Make) -> str:
    """A function that gives one thing for each row, None where the row is dead or `make` says so."""
    scope = scope_of(module)
    columns = {part.name: Code(scope.names.new(part.name), simple=True) for part in collection.columns.fields}
    out = Lines(depth=2)
    record = _record(collection.element, columns)
    fails, lines, value = make(scope, columns, record)
    if fails:
        catch(out, task_id, record, *lines)
        if lines:
            out.lines.insert(-1, "            emit(None)")
    else:
        out.add(*lines)
    out.add(*value)
    body = "\n".join(out.lines)
    heads = [code.text for code in columns.values()]
    top = Lines()
    top.add(*parameter_lines(scope), f"result: list[{given} | None] = []", "emit = result.append")
    top.add(loop_head(heads, body, timed=collection.timed))
    head = f"def {name}(rows: Sequence[Row], dead: Dead, parameters: Parameters) -> list[{given} | None]:"
    return "\n".join([head, *top.lines, body, "    return result"])


def _record(element: Type, columns: dict[str, Code]) -> str:
    if isinstance(element, Struct):
        return Binding(columns={name: columns[name] for name in element.names}).whole().text
    return columns["value"].text


def expression_function(name: str, expr: Expr, module: Module) -> str:
    """A function of the parameters alone."""
    scope = scope_of(module)
    code = scope.value(expr)
    lines = [*parameter_lines(scope), f"return {code.inner}"]
    return "\n".join([f"def {name}(parameters: Parameters) -> object:", *(f"    {line}" for line in lines)])
