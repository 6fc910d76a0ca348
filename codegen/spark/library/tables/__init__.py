"""Tables of files, read and written: which files are in a version, and rows as their texts."""

__all__: list[str] = []
