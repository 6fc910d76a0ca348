"""What runs in one slot: the stream units of a program, in the caller's process or in one of their own."""

__all__: list[str] = []
