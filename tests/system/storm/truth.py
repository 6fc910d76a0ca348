"""Whether `/ready` tells the truth: what it says is compared with calls that are made beside it.

The truth is what a caller meets: a call of a stream unit is done within two seconds, or later, or it is not. `/ready`
has five seconds to notice. No answer at all is no lie while calls are not answered either, and that calls can be served
is none while any is done, late as it may be on a machine with much else to do.
"""

import threading
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException

from tests.system.running import Answer, Running, request
from tests.system.storm.calls import FINAL

NOTICED = 5.0
"""Seconds within which `/ready` says what is so."""
_PATIENCE = 10.0
_PAUSE = 0.3
_IN_TIME = 2.5
"""Seconds of a call that is done in time: the two that it waits, and the way."""
_CALL = "/programs/storm/units/count_of/calls?wait=2"


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when (seconds of the monotonic clock)."""

    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Told(Span):
    """What `/ready` said; status 0: nothing."""

    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Tried(Span):
    """A call, and whether it was done in time."""

    served: bool


@dataclass(slots=True)
class Struck:
    """A fault that lasts until its end is known. Calls go on under one that `serves`."""

    kind: str
    serves: bool
    begin: float
    end: float = float("inf")


@dataclass
class Truth:
    """Asks `/ready` and calls, until it is over."""

    daemon: Running
    told: list[Told] = field(default_factory=list[Told])
    tried: list[Tried] = field(default_factory=list[Tried])
    late: list[float] = field(default_factory=list[float])
    """When it was seen that a call is done which was not in time."""
    faults: list[Struck] = field(default_factory=list[Struck])
    over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def struck(self, kind: str, *, serves: bool) -> Generator[None]:
        """A fault lasts for the time of the block."""
        fault = Struck(kind, serves, time.monotonic())
        self.faults.append(fault)
        try:
            yield
        finally:
            fault.end = time.monotonic()

    def ask(self) -> None:
        """Ask without end whether calls can be served."""
        while not self.over.wait(_PAUSE):
            begin, answer = time.monotonic(), self._answer("GET", "/ready")
            status, text = (answer.status, answer.text) if answer is not None else (0, "no answer")
            self.told.append(Told(begin, time.monotonic(), status, text))

    def call(self) -> None:
        """Make calls without end, one after the other, and look what becomes of those that are not done in time."""
        waiting: list[str] = []
        while not self.over.wait(_PAUSE):
            begin, answer = time.monotonic(), self._answer("POST", _CALL, {"digit": 1}, f"truth-{uuid.uuid4()}")
            end = time.monotonic()
            done = answer is not None and answer.status == 200 and answer.json["state"] == "done"
            self.tried.append(Tried(begin, end, served=done and end - begin <= _IN_TIME))
            self.late += [end] * (done and end - begin > _IN_TIME)  # who answers has had no processor
            if answer is not None and answer.status == 202:
                waiting.append(answer.json["links"]["self"])
            waiting = [link for link in waiting if not self._is_over(link)]

    def _is_over(self, link: str) -> bool:
        """Whether a call that was not done in time has its answer."""
        answer = self._answer("GET", link)
        state = None if answer is None else answer.json.get("state")
        self.late += [time.monotonic()] * (state == "done")
        return state in FINAL

    def lies(self) -> list[str]:
        """Each time that `/ready` said what had not been so for five seconds."""
        return [lie for told in list(self.told) if (lie := self._lie(told)) is not None]

    def _lie(self, told: Told) -> str | None:
        before = told.begin - NOTICED
        struck = [each for each in self.faults if each.begin < told.end and each.end > before]
        around = [each for each in self.tried if each.end > before and each.begin < told.end]
        if not around or around[0].begin > before or around[-1].end < told.end:
            return None  # nobody knows what was so all the time
        served = {each.served for each in around}
        changed = any(before < moment < told.end for each in struck for moment in (each.begin, each.end))
        late = any(before < moment < told.end for moment in self.late)
        if told.status == 200 and served == {False} and not late and not changed:
            said = "calls could be served"
        elif told.status != 200 and served == {True} and all(each.serves for each in struck):
            said = "calls could not be served"
        else:
            return None
        last = [
            f"{each.kind} from {told.begin - each.begin:.1f} s before" for each in self.faults if each.begin < told.end
        ]
        took = told.end - told.begin
        return f"/ready said at {told.begin:.1f}, in {took:.1f} s, that {said}, after {last[-2:]}: {told.text}"

    def _answer(self, method: str, path: str, body: object = None, id: str = "") -> Answer | None:
        headers = {"Idempotency-Key": id} if id else {}
        try:
            return request(method, self.daemon.url + path, body, timeout=_PATIENCE, headers=headers)
        except (OSError, HTTPException):
            return None
