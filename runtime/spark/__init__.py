"""The Spark driver: one warm Spark session in a process of its own that runs the batch units of bundles."""

__all__: list[str] = []
