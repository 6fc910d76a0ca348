"""The stages of a fused task: what they take and give, whether they begin with a union, and their event time.

What they do with records is no business of this module: the reference says it.
"""

from collections.abc import Sequence
from dataclasses import replace

from ghcm.spg.ops import EventTime, Fused, KeyBy, MapToPair, MapValues, Op, Stage, Union, Window
from ghcm.spg.traits import traits_of
from ghcm.types import Collection, Shape


def stages_of(op: Op) -> tuple[Stage, ...]:
    """The stages of a fused task; none of any other."""
    return op.stages if isinstance(op, Fused) else ()


def unites(op: Op) -> bool:
    """Whether it takes the records of several inputs as those of one."""
    return isinstance(op, Union) or any(isinstance(stage.op, Union) for stage in stages_of(op)[:1])


def event_time_of(op: Op) -> EventTime | None:
    """The event time that it gives records, if it does."""
    found = (each for each in (op, *(stage.op for stage in stages_of(op))) if isinstance(each, EventTime))
    return next(found, None)


def united(takes: Sequence[Collection]) -> Collection:
    """The records of several inputs as one collection."""
    bounded, changing = all(each.bounded for each in takes), any(each.changing for each in takes)
    return replace(takes[0], bounded=bounded, changing=changing)


def given_by(stage: Stage, takes: Collection) -> Collection:
    """What a stage gives that takes this."""
    gives = replace(takes, element=stage.element)
    match stage.op:
        case Window():
            return replace(gives, windowed=True)
        case EventTime():
            return replace(gives, timed=True)
        case _ if _keeps_shape(stage.op):
            return gives
        case op:  # the others make records anew
            shape = Shape.PAIRS if isinstance(op, MapToPair | KeyBy) else Shape.STREAM
            return replace(gives, shape=shape, windowed=False)


def _keeps_shape(op: Op) -> bool:
    return traits_of(op).picks or isinstance(op, MapValues | Union)
