"""Schemas of others, Arrow's and JSON Schema's, into types and back; data in and data out, nothing is read here."""

__all__: list[str] = []
