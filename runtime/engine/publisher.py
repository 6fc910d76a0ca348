"""The instructions that a unit's policies have decided to send: kept until their commit is through, then sent beside
the loop.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import cast

from ghcm.runtime.contract import Publication
from ghcm.runtime.engine.services import Services, plain
from ghcm.runtime.pubsub.cache import MessageCache, Topic
from ghcm.runtime.pubsub.connections import topic_of
from ghcm.runtime.pubsub.envelope import Instruction
from ghcm.runtime.worker import Worker
from ghcm.spg.graph import Program
from ghcm.values import to_json


class Publisher:
    """Sends instructions in order. What was not sent yet is part of every snapshot; sending one twice is harmless,
    its id is the same. `on_sent` is called in the loop when one has left. `services` are those of the program as it is.
    """

    def __init__(
        self,
        unit: str,
        services: Services,
        failed: Callable[[Exception], None],
        on_sent: Callable[[], None] = lambda: None,
    ) -> None:
        self.worker = Worker(f"{unit}-calls", services.scheduler.post)
        self.sent = 0
        self._unit = unit
        self.services = services
        self._failed = failed
        self._on_sent = on_sent
        self._caches: dict[Topic, MessageCache] = {}
        self.unsent: list[Mapping[str, object]] = []
        """What has not been sent, as JSON."""

    def document(
        self,
        task: str,
        publication: Publication,
        versions: Mapping[str, str],
        call: str | None = None,
        program: Program | None = None,
    ) -> Mapping[str, object]:
        """The instruction of a publication as JSON. `versions`: what readers of the sinks see after the commit, by
        sink. `call`: the call that publishes, if it is not the unit itself, and `program` what that call ran.
        """
        called = (program or self.services.program).unit(publication.unit)
        types = {parameter.name: parameter.type for parameter in called.parameters}
        parameters = {name: to_json(value, types[name]) for name, value in publication.arguments.items()}
        # A policy counts from 0 when it begins, and what another of its name has sent is another call.
        began = 1 if call else self.services.began(self._unit, task)
        policy = task if began == 1 else f"{task}.v{began}"
        id_ = plain(f"{call or self.services.job}.{self._unit}.{policy}.{publication.sequence}")
        return {"id": id_, "unit": publication.unit, "parameters": parameters, "versions": dict(versions)}

    def send(self, documents: tuple[Mapping[str, object], ...]) -> None:
        """Send these, whose commit is through."""
        for document in documents:
            self.unsent.append(document)
            self.worker.submit(partial(self._send, document), self._sent, self._failed)

    def close(self) -> None:
        """Close the caches and end the thread."""

        def close() -> None:
            for cache in self._caches.values():
                cache.close()

        self.worker.close(close)

    def _sent(self, document: Mapping[str, object]) -> None:
        self.unsent.remove(document)
        self.sent += 1
        self._on_sent()

    def _send(self, document: Mapping[str, object]) -> Mapping[str, object]:
        services, unit = self.services, cast("str", document["unit"])
        id_ = cast("str", document["id"])
        instruction = Instruction(
            id=id_,
            program=services.program.name,
            unit=unit,
            parameters=cast("Mapping[str, object]", document["parameters"]),
            trace=id_,
            publisher=f"{services.program.name}.{self._unit}",
            versions=cast("Mapping[str, str]", document["versions"]),
        )
        # Stored before it is sent, as every call, so that whoever waits for all calls knows of this one.
        if services.accept is not None and not services.accept(instruction):
            return document
        cache = self._cache(unit)
        if cache is not None:
            cache.send(instruction)
        return document

    def _cache(self, unit: str) -> MessageCache | None:
        """Where calls of a unit go; None where the program has it no more: whoever keeps the calls answers those."""
        program = self.services.program
        known = next((each for each in program.units if each.name == unit), None)
        if known is None:
            return None
        topic = topic_of(program, known)
        if topic not in self._caches:
            consumer = f"{self.services.job}.{self._unit}.publisher"
            self._caches[topic] = self.services.connections.cache(topic, program.name, consumer)
        return self._caches[topic]
