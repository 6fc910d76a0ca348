"""Joins of two inputs."""

from __future__ import annotations

from dataclasses import dataclass

from ghcm.expr import Lambda
from ghcm.spg.joining import JoinKind


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of records of the left (first) and right (second) input whose keys are equal and whose `residual` (if
    any) is true. Null keys never join, and records without a partner stay as `kind` says. `within_us`: their event
    times are at most so far apart; both inputs may then be endless. `asof`: of the right records at or before the time
    of a left one (and within the interval) only the latest belongs to it, of several at that time the greatest.

    `left_keys` and `right_keys` have equal length >= 1. The element is `{left, right}`; for two `Pairs` joined by key
    (`by_key`) it is `{key, value: {left, right}}`, and of pairs in windows, which are then keys too, `{key, value,
    window}`; of semi and anti joins it is the left one. A pair of records whose
    residual fails is a dead letter and does not belong together.

    Lookups (`ghcm.spg.joining.is_lookup`) take left records one after the other and keep their order, event time and
    watermark: in the whole right side, for whose end they wait, or in what an endless table had given on by then.
    """

    kind: JoinKind
    left_keys: tuple[Lambda, ...]
    right_keys: tuple[Lambda, ...]
    residual: Lambda | None
    by_key: bool
    within_us: int | None = None
    asof: bool = False

    @property
    def by_time(self) -> bool:
        """Whether the event times of two records decide whether they belong together."""
        return self.within_us is not None or self.asof
