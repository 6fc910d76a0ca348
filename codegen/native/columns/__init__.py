"""Generated code over columns: expressions as Polars with masks of failing records, and statements for a chain."""

__all__: list[str] = []
