"""Order: `sort` and `top`, over everything there is."""

from __future__ import annotations

from dataclasses import replace

from ghcm.codes import Code
from ghcm.expr import Expr, Lambda, Literal
from ghcm.functions import comparable
from ghcm.lowering.context import Scope
from ghcm.lowering.drafting import Step
from ghcm.lowering.expressions import typed
from ghcm.lowering.flows import Bound, Flow
from ghcm.lowering.records import fits
from ghcm.spg.graph import Global
from ghcm.spg.ops import Sort, Top
from ghcm.types import Int


def sort(step: Step, flow: Flow) -> Bound:
    """All records in order."""
    by = _by(step, flow)
    descending = step.given.flag("descending", False)
    return flow if by is None else _ordered(step, flow, Sort(by, descending))


def top(step: Step, flow: Flow) -> Bound:
    """The first records of an order, the greatest unless told otherwise."""
    if not flow.collection.bounded and not flow.collection.windowed:
        step.report(
            Code.NEEDS_BOUNDED,
            '"top" needs input that ends or is in windows, and this never ends',
            hint="window(...) before it gives the top of each window; what is read from a sink or a table ends.",
        )
        return flow
    count = _count(step)
    by = _by(step, flow)
    ascending = step.given.flag("ascending", False)
    if by is None or count is None:
        return flow
    made = _ordered(step, flow, Top(count, by, not ascending))
    return replace(made, open_window=False)


def _ordered(step: Step, flow: Flow, op: Sort | Top) -> Flow:
    draft = step.add(op, flow.collection, (flow, Global()), keeps_state=True)
    return Flow(draft, flow.collection, True, flow.open_window)


def _by(step: Step, flow: Flow) -> Lambda | None:
    element = flow.collection.element
    by = step.function("by", element)
    for type_ in (element,) if by is None else (by.body.type, element):
        if not comparable(type_):
            step.report(Code.NOT_COMPARABLE, f'"{type_}" has no order', hint="Maps cannot be compared.")
            return None
    return by


def _count(step: Step) -> Expr | None:
    """The number of records: a constant or a parameter of the unit, not of a record."""
    written = step.given.expr("count")
    if written is None:
        return None
    scope = Scope(parameters=step.unit.scope.parameters, collections=step.unit.scope.collections)
    count = typed(written, scope, step.context)
    if count is None:
        return None
    if isinstance(count, Literal) and isinstance(count.value, int) and count.value < 1:
        step.report(Code.OUT_OF_RANGE, '"count" of "top" is less than 1', written.span)
        return None
    return fits(count, Int(), '"count" of "top"', written.span, step.context)
