"""Files as sources: records of JSON lines, of cells and of columns, and which of them Spark itself reads."""

__all__: list[str] = []
