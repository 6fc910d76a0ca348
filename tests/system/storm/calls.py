"""Who calls while a storm rages: every call that was accepted is kept, with the one answer that it may have."""

import json
import random
import threading
import time
import uuid
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

from tests.system.running import Answer, Running, until

FINAL = ("done", "failed", "expired", "cancelled")
PATIENCE, RECOVERY = 900.0, 60.0


@dataclass
class Callers:
    """Calls of one program: which were accepted, what was answered, and what was found wrong."""

    daemon: Running
    random: random.Random
    spark: bool
    program: str = "storm"
    accepted: dict[str, str] = field(default_factory=dict[str, str])
    answers: dict[str, str] = field(default_factory=dict[str, str])
    wrong: list[str] = field(default_factory=list[str])
    over: threading.Event = field(default_factory=threading.Event)

    def call(self) -> None:
        """Call units without end; keep every call that was accepted, and every final answer that was seen."""
        chance = random.Random(self.random.random())
        while not self.over.is_set():
            batch = self.spark and chance.random() < 0.005  # Spark needs seconds for one
            unit, body = ("tally", {"below": 500}) if batch else ("count_of", {"digit": chance.randrange(10)})
            wait = "" if chance.random() < 0.5 else "?wait=1"
            path = f"/programs/{self.program}/units/{unit}/calls{wait}"
            answer = self._insist(path, body, f"call-{chance.getrandbits(60):x}")
            if answer is None:
                return
            if answer.status in (200, 202):
                self.note(answer.json)
            elif answer.status not in (404, 429, 503):
                self.wrong.append(f"a call was answered with {answer.status}: {answer.text}")
            self.over.wait(0.05)

    def await_one(self, unit: str = "count_of") -> float:
        """Call until a call of this unit is done; the seconds that it took."""
        begun, patience = time.monotonic(), RECOVERY if unit == "count_of" else PATIENCE  # Spark may have to start
        body = {"digit": 0} if unit == "count_of" else {"below": 500}

        def done() -> bool:
            path = f"/programs/{self.program}/units/{unit}/calls?wait=5"
            answer = self.ask(path, body, f"calm-{uuid.uuid4()}")
            while answer.status in (200, 202) and answer.json["state"] not in FINAL:
                assert time.monotonic() < begun + patience, f"no answer in {patience:.0f} s: {answer.text}"
                answer = self.ask(f"{answer.json['links']['self']}?wait=5")
            if answer.status not in (200, 202):
                return False
            self.note(answer.json)
            return bool(answer.json["state"] == "done")

        until(done, "a call that is done", patience)
        return time.monotonic() - begun

    def note(self, call: Any) -> None:
        """Compare what is said of a call with what was said before."""
        self.accepted[call["id"]] = call["links"]["self"]
        if call["state"] in FINAL:
            told = json.dumps([call["state"], call["rows"], call["ended"], call["error"]])
            if self.answers.setdefault(call["id"], told) != told:
                self.wrong.append(f"call {call['id']} has two answers: {self.answers[call['id']]} and {told}")

    def settle(self) -> None:
        """Wait for an answer to every call that was accepted."""
        for id, link in list(self.accepted.items()):

            def final(link: str = link) -> bool:
                answer = self.ask(f"{link}?wait=20")
                if answer.status == 503:
                    return False
                assert answer.status in (200, 202), f"{link} was accepted, and is: {answer.text}"
                self.note(answer.json)
                return answer.json["state"] in FINAL

            until(final, f"an answer to call {id}", PATIENCE)

    def ask(self, path: str, body: object = None, id: str = "") -> Answer:
        """What is answered to a question, or to a call of this id, asked again while who answers is killed."""
        found: list[Answer] = []

        def answered() -> bool:
            found.extend(answer for answer in [self._try(path, body, id)] if answer is not None)
            return bool(found)

        until(answered, f"an answer to {path}", PATIENCE)
        return found[0]

    def _insist(self, path: str, body: object, id: str) -> Answer | None:
        """Make a call under an id of its own, again and again while who answers is killed; None when all is over."""
        while not self.over.is_set():
            if (answer := self._try(path, body, id)) is not None:
                return answer
            self.over.wait(0.05)
        return None

    def _try(self, path: str, body: object, id: str) -> Answer | None:
        """Ask once, or call under this id; None without an answer, as of an HTTP process that is killed meanwhile."""
        try:
            return self.daemon.get(path) if body is None else self.daemon.post(path, body, Idempotency_Key=id)
        except (OSError, HTTPException):
            return None
