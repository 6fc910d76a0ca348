"""Tables of files, as engines and Spark jobs write and read them: Delta tables, folders of plain files, and keys
of Redis in the forms that others read."""

__all__: list[str] = []
