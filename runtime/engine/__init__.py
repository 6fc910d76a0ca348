"""The engine: tasklets that take turns on a slot, the edges between them, and the units that they make."""

__all__: list[str] = []
