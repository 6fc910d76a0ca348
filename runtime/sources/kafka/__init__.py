"""Topics of Kafka as sources."""

from ghcm.runtime.sources.kafka.source import KafkaSource

__all__ = ["KafkaSource"]
