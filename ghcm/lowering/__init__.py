"""Lowering: from the checked syntax tree to the SPG."""

__all__: list[str] = []
