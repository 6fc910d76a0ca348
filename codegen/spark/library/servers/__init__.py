"""What other servers hold: rows of databases, hashes of Redis, topics of Kafka."""

__all__: list[str] = []
