"""What the demo has on topics of Kafka when it is asked to: connections come in by one, alarms go out by another."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

import demo_screen
import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from demo_screen import clean, heading, screen

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.kafka_data import client_options
from ghcm.runtime.pubsub.services import services
from ghcm.runtime.settings import Settings

PARTITIONS, PATIENCE_SECONDS = 2, 30.0


class Topics:
    """The topics of one demo, on the Kafka of `ghcm services up`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        stamp = time.strftime("%H%M%S")
        self.flows, self.alarms = f"traffic.flows.{stamp}", f"traffic.alarms.{stamp}"

    def _options(self) -> dict[str, Any]:
        return client_options(self._settings.kafka, lambda _: None)

    def rewrite(self) -> Mapping[str, str]:
        """Words by which the program reads and writes these topics, too."""
        sink = 'sink alerts     = parquet("out/alerts", mode = append)'
        source = f"""\
  topic = kafka("{self.flows}", format = json, until = latest)
            .as(ZeekConn)
            .map(c => flow_of_zeek(c))
            .event_time(f => f.end, disorder = 10s, idle = 30s)
"""
        return {
            "  flows = union(zeek, json, argus, live)": f"{source}\n  flows = union(zeek, json, argus, live, topic)",
            sink: f'{sink}\nsink alarms_out = kafka("{self.alarms}")',
            "  alarms.to(alerts)": "  alarms.to(alarms_out)\n  alarms.to(alerts)",
        }

    def fill(self, lines: Iterable[str]) -> None:
        """Make the topics, and send each line as a message. GhcmError where that cannot be done."""
        admin = AdminClient(self._options())
        made = admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (self.flows, self.alarms)])
        for each in made.values():
            each.result(PATIENCE_SECONDS)
        # What is sent again stays in front of what comes behind it: event time goes by the order of a partition.
        producer = Producer({**self._options(), "enable.idempotence": True})
        for number, line in enumerate(lines):
            producer.produce(self.flows, line.encode(), partition=number % PARTITIONS)
            producer.poll(0)
        if left := producer.flush(PATIENCE_SECONDS):
            raise GhcmError(f"{left} connections could not be sent to Kafka", hint="see ghcm services status.")

    def show(self, processes: Iterable[psutil.Process], seconds: float) -> None:
        """What lies on the topics, and what all of it took."""
        heading("7  what went over Kafka", "instructions and alarms; the tables of the sinks did not")
        table = demo_screen.plain("topic", "messages")
        for name, count in self._counts().items():
            table.add_row(name, f"{count:,}")
        screen.print(table)
        for message in self._messages(self.alarms)[:1]:
            told = json.loads(message)
            screen.print(f"an alarm: {clean(told['signature'])}, {clean(told['src'])} → {clean(told['dst'])}")
        broker, redis = services(self._settings.state / "services")
        ours = sum(each.memory_info().rss for each in processes)
        memory = f"{ours >> 20:,} MB for the program, {broker['memory'] >> 20} MB for Kafka"
        screen.print(f"{seconds:.0f} s in all; {memory}, {redis['memory'] >> 20} MB for Redis")

    def _counts(self) -> dict[str, int]:
        """How many messages each topic of this program holds; markers of transactions count as well."""
        consumer = self._consumer()
        found: dict[str, int] = {}
        for name, topic in sorted(consumer.list_topics(timeout=PATIENCE_SECONDS).topics.items()):
            if name in (self.flows, self.alarms) or name.startswith("ghcm-cache-traffic"):
                ends = [consumer.get_watermark_offsets(TopicPartition(name, each)) for each in topic.partitions]
                found[name] = sum(high - low for low, high in ends)
        consumer.close()
        return found

    def _messages(self, topic: str) -> list[bytes]:
        """What those see who read committed messages only."""
        consumer = self._consumer()
        consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])
        found: list[bytes] = []
        over = 0
        while over < PARTITIONS:
            message: Any = consumer.poll(PATIENCE_SECONDS)
            if message is None or message.error():
                over += 1
            else:
                found.append(message.value())
        consumer.close()
        return found

    def _consumer(self) -> Consumer:
        more = {"group.id": "traffic-demo", "enable.partition.eof": True, "isolation.level": "read_committed"}
        return Consumer({**self._options(), **more, "enable.auto.commit": False})
