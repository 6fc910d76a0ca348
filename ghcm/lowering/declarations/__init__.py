"""What a program declares: its names, types, functions and sinks."""

__all__: list[str] = []
