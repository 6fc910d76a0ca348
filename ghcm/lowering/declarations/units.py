"""Units: their parameters, their statements in order, the ids of their tasks, and what a unit of its kind must and must
not do.

Ids are made from names of the program, so that state is found again after a recompilation. What a statement is called
(its assignment, `.named`, or the sink it feeds) is its anchor. The task that keeps state, or else the last one, gets
the anchor itself; the others stand under it as `anchor/operator`, and ends as `anchor.to`. No id depends on another
statement.
"""

from collections.abc import Mapping
from dataclasses import replace

from ghcm.codes import Code
from ghcm.errors import Reported, attempt
from ghcm.expr import Expr, Param
from ghcm.language import ast
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.drafts import Draft, Flow, Signature, Surroundings, UnitDraft
from ghcm.lowering.expressions.constants import NotConstant, constant
from ghcm.lowering.expressions.functions import whole
from ghcm.lowering.expressions.records import fits
from ghcm.lowering.pipelines import evaluate, named_nodes
from ghcm.spg.graph import Parameter
from ghcm.spg.ops import Changes, Publish, Reply, To
from ghcm.types import Date, Shape, Timestamp, Type, has_union, strip
from ghcm.values.timestamps import how_written


def signature_of(unit: ast.UnitDecl, context: Context) -> Signature:
    """What calls of the unit must fit; its parameters' own mistakes are reported."""
    types: dict[str, Type | None] = {}
    for parameter in unit.parameters:
        name = parameter.name.text
        type_ = attempt(context.records.type_of, parameter.type)
        if type_ is not None and has_union(type_):
            message = f'parameter "{name}" of unit "{unit.name.text}" is a union, which no call can hand over'
            hint = "A call hands over records; a function of the program takes unions."
            context.report(Code.BAD_UNION, message, parameter.span, hint=hint)
        if name in types:
            message = f'unit "{unit.name.text}" has the parameter "{name}" twice'
            context.report(Code.DECLARED_TWICE, message, parameter.name.span)
        elif name in context.kinds:
            message = f'parameter "{name}" would hide the {context.kinds[name]} of that name'
            context.report(Code.RESERVED, message, parameter.name.span)
        types.setdefault(name, type_)
    if unit.parameters and not unit.responsive:
        message = f'unit "{unit.name.text}" has parameters, and nobody calls it'
        hint = f'A unit that is called is written "responsive {unit.kind} {unit.name.text}".'
        context.report(Code.NOT_RESPONSIVE, message, unit.parameters[0].name.span, hint=hint)
    optional = frozenset(each.name.text for each in unit.parameters if each.default is not None)
    return Signature(unit.responsive, types, optional)


def parameters_of(unit: ast.UnitDecl, types: Mapping[str, Type | None], context: Context) -> tuple[Parameter, ...]:
    """The parameters with their defaults; wrong ones are reported and left out."""
    made = (attempt(_parameter, written, types[written.name.text], context) for written in unit.parameters)
    return tuple(each for each in made if each is not None)


def _parameter(written: ast.Parameter, type_: Type | None, context: Context) -> Parameter:
    name, default = written.name.text, written.default
    what = f'the default of "{name}"'
    made = None if default is None else whole(default, Scope(context), what)
    if type_ is None:
        raise Reported
    if default is None or made is None:
        return Parameter(name, type_, True)
    value = fits(made, type_, what, default.span, context)
    try:
        return Parameter(name, type_, False, constant(value))
    except NotConstant:
        time = strip(type_)
        hint = how_written(time) if isinstance(time, Date | Timestamp) else ""
        raise context.report(Code.NOT_CONSTANT, f"{what} is not a constant", default.span, hint=hint) from None


def lower_unit(declaration: ast.UnitDecl, around: Surroundings, context: Context) -> UnitDraft:
    """All statements of a unit as tasks with ids."""
    types = around.signatures[declaration.name.text].parameters
    parameters: dict[str, Expr | None] = {
        name: None if type_ is None else Param(name, type_) for name, type_ in types.items()
    }
    names = frozenset(each.name.text for each in declaration.body if isinstance(each, ast.Assign))
    unit = UnitDraft(context, around, declaration, Scope(context, parameters=parameters, collections=names))
    taken: set[str] = set()
    for statement in declaration.body:
        _statement(statement, unit, taken)
    _check_ends(unit)
    return unit


def _statement(statement: ast.Statement, unit: UnitDraft, taken: set[str]) -> None:
    first = len(unit.drafts)
    unit.named_nodes = named_nodes(statement.value, isinstance(statement, ast.Assign))
    ends = unit.ends
    bound = attempt(evaluate, statement.value, unit)
    drafts = unit.drafts[first:]
    right = bound is not None
    name_tasks(statement, drafts, bound.draft if isinstance(bound, Flow) else None, unit, right=right)
    if isinstance(statement, ast.Assign):
        if isinstance(bound, Flow):
            unit.context.note(statement.name.span, bound.collection)
            bound = replace(bound, written=None, ended=False)  # whatever was written behind it does not end it
        right = _check_name(statement.name, unit)
        unit.assigned[statement.name.text] = bound
    elif unit.ends == ends:  # it has to end; one that is wrong is taken for one that does
        unit.ends += 1
        if right:
            message = "the result of this pipeline goes nowhere"
            hint = "to(sink), publish(...) or reply() ends it, and x = ... keeps it."
            unit.context.report(Code.GOES_NOWHERE, message, statement.span, hint=hint)
    if right:
        _check_ids(drafts, unit, taken)


def _check_name(name: ast.Name, unit: UnitDraft) -> bool:
    """Whether an assignment's name is free."""
    context, text = unit.context, name.text
    if text in unit.assigned:
        message = f'"{text}" is assigned twice'
        context.report(Code.DECLARED_TWICE, message, name.span, hint="Every collection has its own name.")
    elif text in unit.scope.parameters:
        context.report(Code.RESERVED, f'"{text}" would hide the parameter of that name', name.span)
    elif text in context.kinds:
        context.report(Code.RESERVED, f'"{text}" would hide the {context.kinds[text]} of that name', name.span)
    elif text == REPLY:
        context.report(Code.RESERVED, f'"{text}" is a name that the language keeps for itself', name.span)
    else:
        return True
    return False


def _check_ids(drafts: list[Draft], unit: UnitDraft, taken: set[str]) -> None:
    clash = next((draft for draft in reversed(drafts) if draft.id in taken), None)
    ids = [draft.id for draft in drafts]
    clash = clash or next((draft for draft in drafts if ids.count(draft.id) > 1), None)
    if clash is not None and not (clash.id == REPLY and unit.replies > 1):
        message = f'two tasks of unit "{unit.name}" would be called "{clash.id}"'
        detail = "Tasks take their names from assignments, named(...) and sinks."
        hint = 'A name of its own tells them apart: .named("name") before the end, or x = ... .'
        unit.context.report(Code.SAME_ID, message, clash.span, detail=detail, hint=hint)
    taken.update(ids)


def _check_ends(unit: UnitDraft) -> None:
    declaration, name = unit.declaration, unit.name
    tables = any(isinstance(bound, Flow) and bound.collection.shape is Shape.TABLE for bound in unit.assigned.values())
    if unit.ends or any(bound is None for bound in unit.assigned.values()):
        return
    if declaration.responsive:
        message = f'responsive unit "{name}" neither replies nor writes'
        hint = "reply() sends the result to the caller, to(sink) leaves it in a sink."
        unit.context.report(Code.NO_ANSWER, message, declaration.name.span, hint=hint)
    elif not tables:
        hint = "to(sink) writes it; a named table of a stream unit can be read by responsive units."
        unit.context.report(Code.GOES_NOWHERE, f'unit "{name}" has no result', declaration.name.span, hint=hint)


REPLY = "reply"


def name_tasks(
    statement: ast.Statement, drafts: list[Draft], last: Draft | None, unit: UnitDraft, *, right: bool
) -> None:
    """Give the tasks of one statement their ids. `last` is the task whose collection the statement is about; where the
    statement is not right, what its end would have named is no second mistake.
    """
    ends = [draft for draft in drafts if isinstance(draft.op, To | Publish | Reply)]
    assigned = statement.name.text if isinstance(statement, ast.Assign) else None
    given = last.named if last in drafts else None
    sinks = [draft.op.sink for draft in ends if isinstance(draft.op, To)]
    own = assigned or given or (sinks[0] if sinks else None)
    anchor = own or _anchor_of_end(ends)
    for draft in drafts:
        if draft.named is not None:
            draft.id, draft.is_named = draft.named, True
    _name_state(statement, drafts, [name for name in (own, *sinks) if name], last, unit, right)
    words: dict[str, int] = {}
    for draft in drafts:
        if not draft.id:
            from_sink = assigned is None and given is None
            draft.id = _derived(draft, anchor, words, from_sink=from_sink)


def _name_state(
    statement: ast.Statement, drafts: list[Draft], free: list[str], last: Draft | None, unit: UnitDraft, right: bool
) -> None:
    """Give the statement's name to the task that keeps state, or else to the last one of an assignment."""
    taken = {draft.id for draft in drafts if draft.id}
    names = [name for name in dict.fromkeys(free) if name not in taken]
    stateful = [draft for draft in drafts if draft.keeps_state and not draft.id]
    holder = stateful[-1] if stateful else None
    if holder is None and isinstance(statement, ast.Assign) and last in drafts and not last.id:
        holder = last
    nameless = stateful[:-1] if names else stateful
    if unit.lives_on and right:
        for draft in nameless:
            message = f'"{draft.word}" keeps state, and nothing in the program names it'
            detail = "State is found again by name when the program is changed."
            hint = 'Name it: .named("name") behind it, or x = ... .'
            unit.context.report(Code.UNNAMED_STATE, message, draft.span, detail=detail, hint=hint)
    if holder is not None and names:
        holder.id, holder.is_named = names[0], True


def _anchor_of_end(ends: list[Draft]) -> str:
    for draft in ends:
        if isinstance(draft.op, Publish):
            return draft.op.call.unit
    return REPLY


def _derived(draft: Draft, anchor: str, words: dict[str, int], *, from_sink: bool) -> str:
    match draft.op:
        case Reply():
            return REPLY
        case To(sink=sink):
            base = f"{sink}.to" if from_sink else f"{anchor}.to"
        case Publish():
            base = f"{anchor}.publish"
        case Changes(final=True):
            base = f"{draft.inputs[0][0].id}/{draft.word}"
        case _:  # other operators stand under the anchor
            base = f"{anchor}/{draft.word}"
    words[base] = words.get(base, 0) + 1
    return base if words[base] == 1 else f"{base}~{words[base]}"
