"""What is new in the sinks of a program, told over HTTP to whoever listens: server-sent events, one or more for each
commit.

A commit of an appended sink is told with the rows that it added; of any other sink the state is told, and commits
between two looks are one state. The id of an event is the version of its commit, with the rows told so far where more
of them follow. A browser sends it again as `Last-Event-ID`, and is told every row behind it, or a problem where that is
not possible any more. A sink is looked at while somebody listens, once for all listeners. A slow listener holds up
nobody else.

Annotations are evaluated (no `from __future__ import annotations`), as FastAPI asks for.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import FastAPI, Header, Query
from fastapi.responses import StreamingResponse

from ghcm.errors import GhcmError
from ghcm.runtime.access.scopes import Action
from ghcm.runtime.sinks.backend import Commit, Page
from ghcm.runtime.sinks.sink import pages_of_call
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import Sink
from ghcm.supervisor.access.needs import needs
from ghcm.supervisor.problems import PROBLEM, Problem, problem_of
from ghcm.supervisor.sink_routes import PROBLEMS, Shown
from ghcm.supervisor.sinks import Selection, SinkWatch, documents, select
from ghcm.values import compact, to_json
from ghcm.values.timestamps import timestamp_text

_LOOK_S = 0.25
"""How often a sink is looked at that somebody listens to."""

_QUIET_S = 15.0
"""After so much silence a line says that the server is there."""

_LONGEST_S = 300.0
"""When a listener has to ask again, so that it is seen whether he still may, and what the program is by now."""

_ROWS = 1000
"""Rows of an event."""

_BEGINNING = "start"
_PART = "~"

ANSWERS: dict[int | str, dict[str, Any]] = {
    **PROBLEMS,
    200: {"content": {"text/event-stream": {}}, "description": "Events `rows`, `state` and `problem`."},
    410: PROBLEM | {"description": "Versions behind that one can no longer be told apart."},
}

After = Annotated[
    str | None,
    Query(
        max_length=300,
        description="The id behind which to begin, or `start`: with all that can be told apart. By default what "
        "comes from now on is told, of a sink that is not appended to also what it holds.",
    ),
]
LastEvent = Annotated[
    str | None, Header(alias="Last-Event-ID", max_length=300, description="The same, and goes before it.")
]


def add(app: FastAPI, shown: Shown, ending: Callable[[], bool]) -> None:
    """Add the endpoint; `ending` says whether the server is, so that nobody is to listen any longer."""

    @app.get(
        "/programs/{program}/sinks/{sink}/events",
        tags=["sinks"],
        summary="What is new in a sink, as server-sent events",
        responses=ANSWERS,
        response_class=StreamingResponse,
    )
    @needs(Action.READ)
    async def listen(program: str, sink: str, after: After = None, last_event: LastEvent = None) -> StreamingResponse:
        watch = shown.watch(program, sink)
        given = after if last_event is None else last_event
        listener = Listener(watch, program, ending, await _begun(watch, given))
        headers = {"X-Accel-Buffering": "no"}  # a proxy that collects would tell what is new when it is old
        return StreamingResponse(listener.events(), headers=headers, media_type="text/event-stream")


async def _begun(watch: SinkWatch, after: str | None) -> str | None:
    """The id behind which a listener begins; None: before all. Problem 410 where what came behind is unknown."""
    commits, appended = await watch.looked(_LOOK_S), watch.sink.mode is Mode.APPEND
    if after is None:
        return commits[-1].version if commits and appended else None
    if after == _BEGINNING:
        return None
    if appended:
        _behind(watch.sink, commits, after)
    return after


@dataclass(slots=True)
class Listener:
    """Who listens to a sink, and the id that he was told last."""

    watch: SinkWatch
    program: str
    ending: Callable[[], bool]
    last: str | None

    async def events(self) -> AsyncIterator[str]:
        """What he is told."""
        begun = told = time.monotonic()
        appended = self.watch.sink.mode is Mode.APPEND
        known = f"id: {self.last or _BEGINNING}\n" if appended else ""  # who is cut off before a commit begins there
        yield f"{known}retry: 1000\n\n"
        try:
            while not self._over(begun):
                for commit in await self._news():
                    async for event in self._told(commit):
                        if self._over(begun):
                            return
                        yield event
                    told = time.monotonic()
                if time.monotonic() - told > _QUIET_S:
                    yield ":\n\n"
                    told = time.monotonic()
                await asyncio.sleep(_LOOK_S)
        except GhcmError as error:
            yield _event("problem", problem_of(error).document())

    def _over(self, begun: float) -> bool:
        """Whether he has to ask again."""
        return self.ending() or time.monotonic() - begun >= _LONGEST_S

    async def _news(self) -> Sequence[Commit]:
        """The commits that he was not told; of a sink that is not appended to the latest one at most."""
        commits = await self.watch.looked(_LOOK_S)
        if self.watch.sink.mode is Mode.APPEND:
            return _behind(self.watch.sink, commits, self.last)
        return [each for each in commits[-1:] if each.version != self.last]

    async def _told(self, commit: Commit) -> AsyncIterator[str]:
        """The events of a commit. The last has its id; those before it say how many rows have been told with them."""
        if self.watch.sink.mode is not Mode.APPEND:
            event, version = await asyncio.to_thread(self._state)
            yield event
            self.last = version or commit.version  # it may be newer than the commit that was seen
            return
        version, told = _parted(self.last or "")
        told = told if version == commit.version else 0
        where = self.watch.sink, self.watch.connections
        pages = pages_of_call(*where, call=commit.version, limit=_ROWS, offset=told)
        while (page := await asyncio.to_thread(next, pages, None)) is not None:
            told += len(page.rows)
            yield await asyncio.to_thread(self._rows, commit, page, told)
        self.last = commit.version

    def _rows(self, commit: Commit, page: Page, told: int) -> str:
        """Some rows of a commit as an event; with them so many are told."""
        whole = not page.rows or told >= page.total
        rows = [to_json(tuple(row), self.watch.sink.columns) for row in page.rows]
        document = self._document(commit.version, commit.time, page.total, rows)
        return _event("rows", document, commit.version if whole else f"{commit.version}{_PART}{told}")

    def _state(self) -> tuple[str, str | None]:
        """What the sink holds as an event, its newest rows, and which version that is. Blocks."""
        found = self.watch.snapshot()
        selected = select(found, Selection(limit=_ROWS))
        total = found.rows if found.rows is not None else selected.total
        document = self._document(found.version, found.as_of, total, documents(selected))
        return _event("state", document, found.version), found.version

    def _document(self, version: str | None, time: int | None, total: int, rows: Sequence[object]) -> dict[str, object]:
        as_of = None if time is None else timestamp_text(time)
        about = {"program": self.program, "sink": self.watch.sink.name, "version": version, "as_of": as_of}
        return {**about, "total": total, "rows": rows}


def _behind(sink: Sink, commits: Sequence[Commit], last: str | None) -> Sequence[Commit]:
    """The commits that came after that id, the first one in part where some of its rows were told; None: after the last
    one whose rows are no longer known. Problem 410 where that version is not known, or rows of one that is to be told.
    """
    versions = [each.version for each in commits]
    if last is None:
        return commits[max((at for at, each in enumerate(commits, 1) if not each.kept), default=0) :]
    version, told = (last, None) if last in versions else _parted(last)
    behind = commits[versions.index(version) + (told is None) :] if version in versions else None
    if behind is None or not all(each.kept for each in behind):
        message = f'sink "{sink.name}" has no version "{last}", or no longer knows what came behind it'
        hint = f"ask for its rows, and listen with ?after={_BEGINNING} or without a version."
        raise Problem(410, "GHCM-732", message, hint=hint)
    return behind


def _parted(id: str) -> tuple[str, int]:
    """The version and the rows of it that were told, of an id of an event that others of its commit follow.

    >>> _parted("job-7~2000")
    ('job-7', 2000)
    """
    version, _, told = id.rpartition(_PART)
    return (version, int(told)) if told.isdecimal() else ("", 0)


def _event(kind: str, document: object, id: str | None = None) -> str:
    """An event, which is a line of JSON."""
    named = "" if id is None else f"id: {id}\n"
    return f"event: {kind}\n{named}data: {compact(document)}\n\n"
