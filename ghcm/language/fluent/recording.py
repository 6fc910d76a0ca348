"""The pipelines that a unit's function makes while it runs, in order."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from ghcm.language.fluent.places import caller

if TYPE_CHECKING:
    from ghcm.language.fluent.pipelines import Pipeline


@dataclass(slots=True)
class Body:
    """What a unit's function says while it runs: its pipelines in order, and its frame, which knows their names."""

    code: CodeType
    pipelines: list[Pipeline] = field(default_factory=list["Pipeline"])
    frame: FrameType | None = None

    def add(self, pipeline: Pipeline) -> None:
        """Note a pipeline that was just made."""
        self.pipelines.append(pipeline)
        frame: FrameType | None = caller()
        while self.frame is None and frame is not None:
            if frame.f_code is self.code:
                self.frame = frame
            frame = frame.f_back


_body: ContextVar[Body | None] = ContextVar("ghcm_body", default=None)


@contextmanager
def recording(code: CodeType) -> Generator[Body]:
    """Collect the pipelines that are made inside."""
    body = Body(code)
    token = _body.set(body)
    try:
        yield body
    finally:
        _body.reset(token)


def current() -> Body | None:
    """What the unit has said whose function runs now; None outside of one."""
    return _body.get()
