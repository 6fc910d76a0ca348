"""What a program declares: its names, sinks and units."""

__all__: list[str] = []
