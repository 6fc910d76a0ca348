"""Lines of generated row code: a loop over rows, the names in it, what becomes of a record that fails, and the
functions that give one thing for each row.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ghcm.codegen.native.names import ARGUMENTS, RESERVED, Names
from ghcm.codegen.native.rows.expressions import RowScope
from ghcm.codegen.native.rows.text import Binding, Code, function_text, targets_text
from ghcm.codegen.native.sections import Module, Place
from ghcm.expr import Expr, Lambda
from ghcm.types import Collection, Struct, Type, is_nullable


@dataclass
class Lines:
    """Python text in the making."""

    depth: int = 1
    lines: list[str] = field(default_factory=list[str])

    def add(self, *lines: str) -> None:
        """Lines at the present depth."""
        self.lines.extend("    " * self.depth + line for line in lines)

    def block(self, head: str, *lines: str) -> None:
        """A head with lines under it."""
        self.add(head)
        self.depth += 1
        self.add(*lines)
        self.depth -= 1


def parameter_lines(scope: RowScope) -> list[str]:
    """The lines that take the unit's parameters which the function mentions."""
    return [f'{local} = parameters["{name}"]' for name, local in sorted(scope.parameters.items())]


def record_of(type_: Type, columns: Mapping[str, Code]) -> Binding:
    """What a record stands for: its columns, or the column `value` of scalars."""
    if isinstance(type_, Struct):
        return Binding(columns={name: columns[name] for name in type_.names})
    return Binding(value=columns["value"])


def bind_record(scope: RowScope, function: Lambda, columns: Mapping[str, Code]) -> None:
    """Let the parameter of a function stand for the record of these columns."""
    scope.bind(function.parameters[0], record_of(function.parameters[0].type, columns))


def catch(out: Lines, stage: str, record: str, *lines: str) -> None:
    """Lines that can fail; a failing record is given to `dead` and left. Nothing where what could fail was left out."""
    if not lines:
        return
    out.block("try:", *lines)
    out.block(
        "except RecordFailure as failure:", f'dead("{stage}", {record}, failure.reason, failure.detail)', "continue"
    )


Made: TypeAlias = tuple[bool, list[str], list[str]]
Make: TypeAlias = Callable[[RowScope, dict[str, Code], str], Made]
"""From scope, columns and record to: can it fail, the lines that may, and the lines that emit."""


def scope_of(module: Module) -> RowScope:
    """A scope for a function of its own, in which no name hides one of the module."""
    return RowScope(module, Names(RESERVED | ARGUMENTS | module.names.taken))


def per_row(at: Place, collection: Collection, name: str, given: str, make: Make) -> str:
    """A function that gives one thing for each row, None where the row is dead or `make` says so."""
    scope = scope_of(at.module)
    columns = {part.name: Code(scope.names.new(part.name), simple=True) for part in collection.columns.fields}
    heads = [code.text for code in columns.values()]
    out = Lines(depth=2)
    record = record_of(collection.element, columns).whole().text
    fails, lines, value = make(scope, columns, record)
    if fails:
        catch(out, at.task.id, record, *lines)
        if lines:
            out.lines.insert(-1, "            emit(None)")
    else:
        out.add(*lines)
    out.add(*value)
    return row_function(scope, f"{at.name}_{name}", heads, out, f"{given} | None", timed=collection.timed)


def row_function(
    scope: RowScope, name: str, columns: list[str], out: Lines, given: str, *, timed: bool, further: str = ""
) -> str:
    """A function with a loop over rows, whose body has been written; columns that it does not mention are not taken."""
    body = "\n".join(out.lines)
    names = [*columns, "time", "watermark"] if timed else columns
    taken = [each if re.search(rf"\b{each}\b", body) else "_" for each in names]
    lines = [*parameter_lines(scope), f"result: list[{given}] = []", "emit = result.append"]
    top = Lines()
    top.add(*lines, f"for {targets_text(taken)} in rows:")
    head = f"def {name}(rows: Sequence[Row], dead: Dead, parameters: Parameters{further}) -> list[{given}]:"
    return "\n".join([head, *top.lines, body, "    return result"])


def expression_function(name: str, expr: Expr, module: Module) -> str:
    """A function of the parameters alone."""
    scope = scope_of(module)
    code = scope.value(expr)
    return scope_function(scope, name, "", "object", f"return {code.inner}")


def scope_function(scope: RowScope, name: str, arguments: str, gives: str, *lines: str) -> str:
    """A function of these arguments (a comma behind each) and of the unit's parameters that its lines mention."""
    head = f"{name}({arguments}parameters: Parameters) -> {gives}"
    return function_text(head, [*parameter_lines(scope), *lines])


def condition_line(scope: RowScope, expr: Expr) -> str:
    """The line that returns a condition; where that is null it does not hold."""
    code = scope.truth(expr)
    return f"return bool({code.inner})" if is_nullable(expr.type) else f"return {code.inner}"


def condition_function(name: str, function: Lambda, arguments: tuple[str, ...], module: Module) -> str:
    """A condition on values of these names."""
    scope = scope_of(module)
    for variable, argument in zip(function.parameters, arguments, strict=True):
        scope.bind(variable, Binding(value=Code(argument, simple=True)))
    given = "".join(f"{argument}: Any, " for argument in arguments)
    return scope_function(scope, name, given, "bool", condition_line(scope, function.body))
