"""Tables of files, as engines and Spark jobs write and read them: Delta tables, and folders of plain files."""

__all__: list[str] = []
