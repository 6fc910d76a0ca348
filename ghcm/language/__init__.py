"""The language: two front ends, text and Python, that build one syntax tree."""

__all__: list[str] = []
