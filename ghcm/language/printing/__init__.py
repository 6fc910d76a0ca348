"""Canonical text: what `ghcm fmt`, messages and golden files show of a syntax tree."""

__all__: list[str] = []
