"""What a rule is: a law as data, and a function that says what becomes of two neighbours; and the driver that applies
rules until none fits.

A rule is given a task and one that it reads from, and says what the two become, why they stay as they are, or nothing
where its law has another shape. It changes nothing itself. The driver keeps a worklist: a change has only the tasks
beside it looked at again, so that a long unit costs as much as its tasks.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from ghcm.optimizer.draft import Change, Draft, inputs_of
from ghcm.optimizer.passes import Remark, Remarks
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Op
from ghcm.types import Collection


@dataclass(frozen=True, slots=True)
class Merged:
    """The two are this operation, under the id of the reader. `collection`: what it gives, where that is narrower."""

    op: Op
    collection: Collection | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """The task is nothing: its readers read what it read."""

    reason: str


@dataclass(frozen=True, slots=True)
class Without:
    """The producer is nothing here: the task reads what it read."""

    reason: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The two become something else."""

    change: Change
    reason: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """The task becomes something else, and what it reads stays for whoever reads it too; what nobody reads then goes.
    `seen`: further tasks for which that makes a difference.
    """

    change: Change
    reason: str
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """The law has this shape and must not be applied."""

    reason: str


Outcome: TypeAlias = Merged | Dropped | Without | Rewritten | Replaced | Declined
Apply: TypeAlias = Callable[[Draft, Task, Task], Outcome | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """One law. `apply` is given the graph, the producer and the task that reads from it."""

    name: str
    law: str
    apply: Apply


Match: TypeAlias = tuple[Rule, Task, Task, Outcome]


def simplified(unit: Unit, rules: Sequence[Rule], remarks: Remarks) -> Unit:
    """The unit with the rules applied until none fits; the same object where none does."""
    draft = Draft(unit)
    waiting = deque(task.id for task in unit.tasks)
    queued = set(waiting)
    declined: dict[tuple[str, str, str], Remark] = {}
    while waiting:
        id = waiting.popleft()
        queued.discard(id)
        if id not in draft:
            continue
        for rule, producer, task, outcome in _matches(draft, draft.task(id), rules):
            reason = refusal(draft, producer, outcome)
            if reason:
                declined.setdefault((rule.name, producer.id, task.id), remarks.refusal(unit, task, rule.law, reason))
                continue
            remarks.applied(unit, task, rule.law, _said(producer, outcome))
            further = outcome.seen if isinstance(outcome, Replaced) else ()
            again = dict.fromkeys((*draft.apply(_change(draft, producer, task, outcome)), *further))
            waiting.extend(each for each in again if each not in queued)
            queued.update(again)
            break
    remarks.made += [each for (_, one, two), each in declined.items() if one in draft and two in draft]
    return draft.result()


def possible(unit: Unit, rules: Sequence[Rule]) -> Iterator[Match]:
    """What the rules would still change in a unit."""
    draft = Draft(unit)
    for task in unit.tasks:
        for match in _matches(draft, task, rules):
            if not refusal(draft, match[1], match[3]):
                yield match


def _matches(draft: Draft, task: Task, rules: Sequence[Rule]) -> Iterator[Match]:
    for edge in dict.fromkeys(edge.producer for edge in task.inputs):
        producer = draft.task(edge)
        for rule in rules:
            outcome = rule.apply(draft, producer, task)
            if outcome is not None:
                yield rule, producer, task, outcome


def refusal(draft: Draft, producer: Task, outcome: Outcome) -> str:
    """Why nothing comes of it; empty where something does."""
    match outcome:
        case Declined(reason=reason):
            return reason
        case Dropped() | Without() | Replaced():
            return ""
        case Merged() | Rewritten():
            return f'"{producer.id}" has other readers' if draft.is_shared(producer.id) else ""
        case _:
            assert_never(outcome)


def _said(producer: Task, outcome: Outcome) -> str:
    return f'"{producer.id}" became part of it' if isinstance(outcome, Merged | Declined) else outcome.reason


def _change(draft: Draft, producer: Task, task: Task, outcome: Outcome) -> Change:
    match outcome:
        case Merged(op=op, collection=collection):
            calls = task.calls + producer.calls
            inputs = inputs_of(task, producer)
            merged = replace(task, op=op, inputs=inputs, calls=calls, collection=collection or task.collection)
            return Change((merged,), (producer.id,))
        case Dropped():
            (source,) = task.inputs
            return Change(gone=(task.id,), instead={task.id: source.producer})
        case Without():
            (source,) = producer.inputs
            edges = (
                replace(edge, producer=source.producer) if edge.producer == producer.id else edge
                for edge in task.inputs
            )
            unread = () if draft.is_shared(producer.id) else (producer.id,)
            return Change((replace(task, inputs=tuple(edges), calls=task.calls + len(unread)),), unread)
        case Rewritten(change=change) | Replaced(change=change):
            return change
        case Declined():
            raise AssertionError("a refusal changes nothing")
        case _:
            assert_never(outcome)
