"""Topics of Kafka as sources, and the process that reads ahead for them, which takes only what it needs of all this."""

__all__: list[str] = []
