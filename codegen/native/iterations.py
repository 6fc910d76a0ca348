"""Iterations: how many rounds at most, the totals that end them, and the condition over these."""

from __future__ import annotations

from ghcm.codegen.native.groups import totals_functions
from ghcm.codegen.native.per_row import expression_function, scope_of
from ghcm.codegen.native.row_lines import parameter_lines
from ghcm.codegen.native.row_text import Binding, Code, Module
from ghcm.expr import Lambda
from ghcm.spg.ops import Iterate
from ghcm.types import is_nullable


def iterate_functions(op: Iterate, name: str, module: Module) -> tuple[list[str], dict[str, str]]:
    """`<name>_limit`, `<name>_until`, and `_add` and `_result` of the totals of both sides; and the parts of the entry
    in `TASKS` that name them.
    """
    functions = [expression_function(f"{name}_limit", op.limit, module)]
    entry = {"limit": f"{name}_limit"}
    if op.until is None:
        return functions, entry
    functions.append(_condition(f"{name}_until", op.until.condition, module))
    entry["until"] = f"{name}_until"
    for side, aggregates in (("before", op.until.before), ("after", op.until.after)):
        if aggregates:
            zero, texts = totals_functions(f"{name}_{side}", aggregates, module)
            functions += texts
            entry[side] = f"TotalsCode({zero}, {name}_{side}_add, {name}_{side}_result)"
    return functions, entry


def _condition(name: str, function: Lambda, module: Module) -> str:
    scope = scope_of(module)
    for variable, argument in zip(function.parameters, ("before", "after"), strict=True):
        scope.bind(variable, Binding(value=Code(argument, simple=True)))
    code = scope.truth(function.body)
    given = f"bool({code.inner})" if is_nullable(function.body.type) else code.inner
    head = f"def {name}(before: Any, after: Any, parameters: Parameters) -> bool:"
    return "\n".join([head, *(f"    {line}" for line in parameter_lines(scope)), f"    return {given}"])
