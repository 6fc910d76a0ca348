"""What generated native tasks call."""

__all__: list[str] = []
