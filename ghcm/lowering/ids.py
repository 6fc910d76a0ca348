"""The ids of tasks, made from names of the program so that state is found again after a recompilation.

What a statement is called (its assignment, `.named`, or the sink it feeds) is its anchor. The task that keeps state, or
else the last one, gets the anchor itself; the others stand under it as `anchor/operator`, and ends as `anchor.to`. No
id depends on another statement.
"""

from __future__ import annotations

from ghcm.codes import Code
from ghcm.language import ast
from ghcm.lowering.drafting import UnitDraft
from ghcm.lowering.flows import Draft
from ghcm.spg.ops import Changes, Publish, Reply, To

REPLY = "reply"


def name_tasks(
    statement: ast.Statement, drafts: list[Draft], last: Draft | None, unit: UnitDraft, *, sound: bool
) -> None:
    """Give the tasks of one statement their ids. `last` is the task whose collection the statement is about; where the
    statement is not sound, what its end would have named is no second mistake.
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
    _name_state(statement, drafts, [name for name in (own, *sinks) if name], last, unit, sound)
    words: dict[str, int] = {}
    for draft in drafts:
        if not draft.id:
            from_sink = assigned is None and given is None
            draft.id = _derived(draft, anchor, words, from_sink=from_sink)


def _name_state(
    statement: ast.Statement, drafts: list[Draft], free: list[str], last: Draft | None, unit: UnitDraft, sound: bool
) -> None:
    """Give the statement's name to the task that keeps state, or else to the last one of an assignment."""
    taken = {draft.id for draft in drafts if draft.id}
    names = [name for name in dict.fromkeys(free) if name not in taken]
    stateful = [draft for draft in drafts if draft.keeps_state and not draft.id]
    holder = stateful[-1] if stateful else None
    if holder is None and isinstance(statement, ast.Assign) and last in drafts and not last.id:
        holder = last
    nameless = stateful[:-1] if names else stateful
    if unit.lives_on and sound:
        for draft in nameless:
            unit.context.report(
                Code.UNNAMED_STATE,
                f'"{draft.word}" keeps state, and nothing in the program names it',
                draft.span,
                detail="State is found again by name when the program is changed.",
                hint='Name it: .named("name") behind it, or x = ... .',
            )
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
        case _:
            base = f"{anchor}/{draft.word}"
    words[base] = words.get(base, 0) + 1
    return base if words[base] == 1 else f"{base}~{words[base]}"
