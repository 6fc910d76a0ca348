"""Pipelines: chains of operator calls become tasks, one statement after the other.

Here every operator call meets the checks that the table `ghcm.operators` drives: that the operator exists, what it is
called on, its arguments, whether its input ends, and whether the unit's engine can run it. What is particular to one
operator is in `ghcm.lowering.operators`.
"""

from ghcm.codes import Code
from ghcm.errors import Reported, attempt, sound, suggest
from ghcm.language import ast
from ghcm.lowering import foreign_idioms
from ghcm.lowering.arguments import match_arguments
from ghcm.lowering.drafts import Bound, Flow, Raw, Step, UnitDraft, final, revised, wants_final
from ghcm.lowering.expressions.applications import CALLABLE
from ghcm.lowering.operators import READS, RULES, SOURCES, UNIONS
from ghcm.lowering.operators.ends import behind_mistake
from ghcm.lowering.operators.inputs import union
from ghcm.lowering.operators.sources import settle
from ghcm.lowering.pipeline_functions import written_out
from ghcm.operators import OPERATORS, Operator, Role
from ghcm.operators.operator import ALL, FLOWING
from ghcm.source import Span
from ghcm.spg.sinks import SINKS
from ghcm.support import Never, NotYet, Yes
from ghcm.types import Shape

_AFTER_TO = ("to", "publish", "named")


def evaluate(written: ast.Expr, unit: UnitDraft) -> Bound:
    """The collection that a pipeline gives, its tasks added to the unit. Chains are followed by a loop, however many
    operators they have; each is checked, though what it is called on may be wrong.
    """
    start, calls = _chain(written, unit)
    if not calls:
        return _begun(start, unit)
    bound = attempt(_begun, start, unit)
    for call in calls[:-1]:
        bound = attempt(_operator, call, bound, unit)
    return _operator(calls[-1], bound, unit)


def _chain(written: ast.Expr, unit: UnitDraft) -> tuple[ast.Expr, list[ast.Apply]]:
    """What a pipeline begins with, and the calls of operators behind it."""
    calls: list[ast.Apply] = []
    while isinstance(written, ast.Apply) and isinstance(written.function, ast.Attribute):
        name = written.function.name
        _note_end(name, unit)
        if name in READS or (name not in OPERATORS and name in unit.context.pipelines):
            break
        calls.append(written)
        written = written.function.of
    return written, calls[::-1]


def _noted(written: ast.Expr, bound: Bound, unit: UnitDraft) -> Bound:
    if isinstance(bound, Flow):
        unit.context.note(written.span, bound.collection)
    return bound


def _begun(written: ast.Expr, unit: UnitDraft) -> Bound:
    """What stands at the beginning of a pipeline."""
    return _noted(written, _first(written, unit), unit)


def _first(written: ast.Expr, unit: UnitDraft) -> Bound:
    match written:
        case ast.Ref():
            return _name(written, unit)
        case ast.Apply(function=ast.Ref(name=name, span=span)):
            return _source(name, span, written, unit)
        case ast.Apply(function=ast.Attribute(of=of, name=name, span=span, name_span=name_span)):
            if name in READS:
                return READS[name](_step(OPERATORS[name], name_span or span, written, unit), of)
            function = unit.context.pipelines[name]
            return written_out(function, (of, *_values(written)), written, unit, evaluate, named_nodes)
        case ast.Attribute(of=ast.Ref(name=of), name=name, span=span, name_span=name_span) if (
            of in unit.around.signatures
        ):
            message, hint = f'the table "{name}" is not read', f"{of}.{name}.read() gives its records."
            raise unit.context.report(Code.NO_OPERATOR, message, name_span or span, hint=hint)
        case ast.Attribute(name=name, span=span, name_span=name_span):
            hint = f"Write {name}(...)." if name in OPERATORS else suggest(name, OPERATORS)
            raise unit.context.report(Code.NO_OPERATOR, f'"{name}" is not called', name_span or span, hint=hint)
        case ast.Binary(op="//"):
            hint = 'A comment begins with "#": what stands behind "//" was taken for a divisor.'
            raise unit.context.report(Code.NO_OPERATOR, "this is no pipeline", written.span, hint=hint)
        case _:
            hint = "A pipeline begins with a source, a collection, sink.read() or unit.table.read()."
            raise unit.context.report(Code.NO_OPERATOR, "this is no pipeline", written.span, hint=hint)


def named_nodes(written: ast.Expr, is_named: bool) -> set[int]:
    """The operator calls (by identity) that an assignment or `named` gives a name to."""
    found: set[int] = set()
    while isinstance(written, ast.Apply):
        match written.function:
            case ast.Attribute(of=of, name="named"):
                written, is_named = of, True
            case ast.Attribute(of=of, name="to" | "publish"):
                written = of
            case ast.Attribute(of=of):
                found |= {id(written)} if is_named else set()
                written, is_named = of, False
            case ast.Ref():
                return found | ({id(written)} if is_named else set())
            case _:
                return found
    return found


def _name(written: ast.Ref, unit: UnitDraft) -> Bound:
    name, context = written.name, unit.context
    if name in unit.assigned:
        bound = unit.assigned[name]
        if bound is None:
            raise Reported
        return bound
    if name in unit.scope.collections:
        message = f'"{name}" is used before the line that makes it'
        raise context.report(Code.USED_BEFORE, message, written.span)
    kind = "parameter" if name in unit.scope.parameters else context.kinds.get(name, "")
    if kind:
        hint = f"{name}.read() gives its records." if kind == "sink" else ""
        raise context.report(Code.NOT_A_VALUE, f'"{name}" is a {kind} and no collection', written.span, hint=hint)
    hint = suggest(name, [*unit.assigned, *SOURCES]) or (f"{name}(...) is a source." if name in SOURCES else "")
    raise context.report(Code.UNKNOWN_NAME, f'there is no collection "{name}" here', written.span, hint=hint)


def _source(name: str, span: Span | None, written: ast.Apply, unit: UnitDraft) -> Bound:
    if name == "union":
        return union(_step(OPERATORS[name], span, written, unit), None)
    if (function := unit.context.pipelines.get(name)) is not None:
        return written_out(function, _values(written), written, unit, evaluate, named_nodes)
    if name in SOURCES:
        return SOURCES[name](_step(OPERATORS[name], span, written, unit))
    hint = suggest(name, (*SOURCES, "union"))
    if name in OPERATORS:
        hint = f"It stands behind a collection: x.{name}(...)."
    elif name in unit.around.signatures:
        hint = f"publish({name}(...)) calls a unit."
    elif name in CALLABLE:
        hint = f'"{name}" is a function of values.'
    elif name in SINKS:
        hint = f"sink x = {name}(..., record = Record) declares it, and x.read() gives its records."
    raise unit.context.report(Code.NO_OPERATOR, f'there is no source "{name}"', span, hint=hint)


def _values(written: ast.Apply) -> tuple[ast.Expr, ...]:
    return tuple(each.value for each in written.arguments)


def _operator(written: ast.Apply, bound: Bound | None, unit: UnitDraft) -> Bound:
    """What an operator gives of what it is called on, which is None where that is wrong."""
    assert isinstance(written.function, ast.Attribute)
    name, span = written.function.name, written.function.name_span or written.function.span
    operator = OPERATORS.get(name)
    if operator is None or name in SOURCES:
        hint = f"{name}(...) begins a pipeline."
        if operator is None:
            names = [each for each in OPERATORS if each not in SOURCES]
            hint = foreign_idioms.OPERATORS.get(name, "") or suggest(name, names)
        raise unit.context.report(Code.NO_OPERATOR, f'there is no operator "{name}"', span, hint=hint)
    step = _step(operator, span, written, unit)
    if bound is not None and name in UNIONS:
        taken = bound if isinstance(bound, Raw) else _checked(step, bound)
        return _noted(written, UNIONS[name](step, taken), unit)
    try:
        flow = _checked(step, settle(step, bound) if isinstance(bound, Raw) else sound(bound))
    except Reported:
        behind_mistake(step)
        raise
    return _noted(written, RULES[name](step, flow), unit)


def _step(operator: Operator, span: Span | None, written: ast.Apply, unit: UnitDraft) -> Step:
    """The call with its arguments; engines that cannot run it are reported, and checking goes on."""
    _check_engine(operator, span, unit)
    given = match_arguments(operator.name, operator.arguments, written, unit.context)
    if written.result is not None and operator.name not in ("python", "process"):
        message = f'only a Python function has a type behind it, and not "{operator.name}"'
        unit.context.report(Code.ARGUMENT_UNKNOWN, message, span)
    return Step(unit, operator, written, span, given, lambda part: evaluate(part, unit))


def _check_engine(operator: Operator, span: Span | None, unit: UnitDraft) -> None:
    kind = unit.declaration.kind
    if kind == "batch" and operator.native_in_batches:  # what a unit asks for Spark says itself
        return
    match operator.support(unit.engine):
        case NotYet(reason=reason):
            message = f'"{operator.name}" does not work yet in a {kind} unit'
            unit.context.report(Code.NEVER, message, span, detail=f"It {reason}.")
        case Never(reason=reason):
            message = f'"{operator.name}" cannot be in a {kind} unit'
            unit.context.report(Code.NEVER, message, span, detail=f"{reason[0].upper()}{reason[1:]}.")
        case Yes():
            pass


def _checked(step: Step, flow: Flow) -> Flow:
    """The collection as the operator takes it, of a table that ends its final pairs where it takes no table; reported
    where it takes it in no way: one that has ended, another shape, other bounds."""
    operator = step.operator
    if wants_final(operator.takes, flow.collection) and not flow.ended:
        flow = final(step, flow)
    collection = flow.collection
    if flow.ended or (flow.written is not None and operator.name not in _AFTER_TO):
        hint = "A name for the collection (x = ...) lets several pipelines go on from it."
        raise step.report(Code.WRONG_SHAPE, f'"{operator.name}" stands behind the end of the pipeline', hint=hint)
    if (
        collection.shape is Shape.TABLE
        and operator.revises
        and Shape.PAIRS in operator.takes
        and not collection.bounded
    ):
        return revised(step, flow)
    if collection.changing and not operator.revises and collection.shape in FLOWING and operator.takes != ALL:
        message = f'"{operator.name}" takes no records that may be taken back'
        detail = "They come of a table that changes for ever."
        hint = "changes() of a table gives each change as a record that stays."
        raise step.report(Code.WRONG_SHAPE, message, detail=detail, hint=hint)
    if collection.shape not in operator.takes:
        if isinstance(operator.support(step.unit.engine), Never):  # which has been said
            raise Reported
        takes = " or ".join(_SHAPES[shape] for shape in operator.takes)
        message = f'"{operator.name}" takes {takes}, and this is {_SHAPES[collection.shape]}'
        detail = f'It is of type "{collection}".'
        raise step.report(Code.WRONG_SHAPE, message, detail=detail, hint=_advice(operator, collection.shape))
    if operator.needs_bounded and not collection.bounded:
        hint = "A sink or a table that it is written to can be read by a responsive unit: read() ends."
        raise step.report(
            Code.NEEDS_BOUNDED, f'"{operator.name}" needs input that ends, and this never ends', hint=hint
        )
    return flow


_SHAPES = {Shape.STREAM: "a stream", Shape.PAIRS: "pairs", Shape.TABLE: "a table"}


def _advice(operator: Operator, shape: Shape) -> str:
    match shape:
        case Shape.STREAM:
            return "key_by(x => ...) or map_to_pair(x => (key, value)) gives pairs."
        case Shape.PAIRS:
            return "map(p => ...) gives a stream; changes() is of tables: aggregations with a name in a stream unit."
        case Shape.TABLE if operator.role is Role.TRANSFORM:
            return (
                "filter, map, joins and aggregations follow a table as it changes; changes() gives records that stay."
            )
        case Shape.TABLE:
            return "A table is written to a sink of mode upsert."


def _note_end(name: str, unit: UnitDraft) -> None:
    """Count ends as they are written, so that a mistake before one is not taken for a missing end."""
    if name in ("to", "publish", "reply"):
        unit.ends += 1
    if name == "reply":
        unit.replies += 1
