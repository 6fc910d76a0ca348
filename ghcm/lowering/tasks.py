"""Drafts become tasks once all of them have their ids; the step of an iteration becomes a graph inside of its task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ghcm.lowering.context import origin_of
from ghcm.lowering.flows import Draft, RoundDrafts
from ghcm.spg.graph import Input, Task
from ghcm.spg.iterations import entry_of
from ghcm.spg.ops import Iterate, Publish

_NOTHING: Mapping[Draft, str] = {}


def task_of(draft: Draft, entries: Mapping[Draft, str] = _NOTHING) -> Task:
    """The task of a draft; `entries` are what stands in a step for tasks outside of it."""
    inputs = tuple(Input(entries.get(producer, producer.id), exchange) for producer, exchange in draft.inputs)
    op = draft.op
    if isinstance(op, Publish) and draft.after is not None:
        op = replace(op, after=draft.after.id)
    if isinstance(op, Iterate) and draft.step is not None:
        op = _with_step(draft, op, draft.step)
    origin = origin_of(draft.span)
    return Task(draft.id, op, inputs, draft.collection, origin, named=draft.is_named, calls=draft.calls)


def _with_step(draft: Draft, op: Iterate, step: RoundDrafts) -> Iterate:
    """The iteration with its tasks, which are called after it and their operators."""
    entries = {producer: entry_of(place) for place, (producer, _) in enumerate(draft.inputs) if place}
    entries[step.entry] = entry_of(0)
    words: dict[str, int] = {}
    for inner in step.drafts:
        base = f"{draft.id}/step/{inner.named or inner.word}"
        words[base] = words.get(base, 0) + 1
        inner.id = base if words[base] == 1 else f"{base}~{words[base]}"
    tasks = tuple(task_of(inner, entries) for inner in step.drafts)
    return replace(op, tasks=tasks, result=entries.get(step.result, step.result.id))
