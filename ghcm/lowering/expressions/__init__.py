"""Expressions of a program: as written they become typed ones, or messages that say why not."""

__all__: list[str] = []
