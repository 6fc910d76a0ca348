"""The operators of the native engine: one file each."""

__all__: list[str] = []
