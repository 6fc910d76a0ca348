"""Generated code over rows: expressions as Python, and a loop over tuples for a chain."""

__all__: list[str] = []
