"""What moves through the engine: batches as rows or as a frame, keys, dead letters."""

__all__: list[str] = []
